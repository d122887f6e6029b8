#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of PyTorch on one GPU, and what measure.py asks of it.

    torch_step.py step STEPS       time per step: many small kernels, DDP over NCCL with one rank
    torch_step.py profiler STEPS   the same with torch.profiler in the middle third
    torch_step.py threads          the names of the threads that launch

Prints lines of key=value. Exits with 77 and a line where torch or its GPU is not there.
"""
import os
import statistics
import sys
import time

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"no torch: {error}")
    sys.exit(77)

WIDTH, LAYERS, BATCH = 256, 48, 64


def open_model():
    if not torch.cuda.is_available():
        print("torch sees no GPU")
        sys.exit(77)
    torch.manual_seed(1)
    layers = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH), torch.nn.GELU()]
    model = torch.nn.Sequential(*layers).cuda()
    if dist.is_nccl_available():
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29517")
        os.environ.setdefault("RANK", "0")
        os.environ.setdefault("WORLD_SIZE", "1")
        dist.init_process_group("nccl")
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
    return model, torch.optim.Adam(model.parameters(), foreach=False)


def run_step(model, optimizer):
    data = torch.randn(BATCH, WIDTH, device="cuda")
    optimizer.zero_grad(set_to_none=True)
    model(data).square().mean().backward()
    optimizer.step()


def run_steps(model, optimizer, count, after=None):
    """Seconds of each step, waited for: a launch-bound step shows in it."""
    took = []
    for i in range(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run_step(model, optimizer)
        torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
        if after:
            after(i)
    return took


def main():
    mode = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    model, optimizer = open_model()
    run_steps(model, optimizer, 10)
    if mode == "step":
        took = run_steps(model, optimizer, steps)
        print(f"step_ms={statistics.median(took) * 1e3:.4f} steps={steps} torch={torch.__version__} "
              f"cuda={torch.version.cuda} nccl={'.'.join(map(str, torch.cuda.nccl.version()))}")
    elif mode == "profiler":
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        run_steps(model, optimizer, steps // 3)
        with torch.profiler.profile(activities=activities) as profiler:
            run_steps(model, optimizer, steps // 3)
        time.sleep(3)  # for what was replaced to be noticed, and taken back
        run_steps(model, optimizer, steps // 3)
        kernels = sum(1 for event in profiler.events()
                      if event.device_type == torch.autograd.DeviceType.CUDA)
        print(f"profiler_kernels={kernels} steps={steps // 3}")
    elif mode == "threads":
        names = set()
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/comm") as f:
                names.add(f.read().strip())
        print("names=" + ",".join(sorted(names)))
    if dist.is_initialized():
        dist.destroy_process_group()


main()
