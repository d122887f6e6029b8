#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training job with DistributedDataParallel on CPU (gloo); knows nothing of ranktrace.

  mpirun -np 2 ranktrace run -- python3 train_ddp.py --slow-rank 1 --sleep 0.02
"""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    """Random inputs; reading one batch on the slow rank takes `sleep_s` longer."""

    def __init__(self, batches, batch_size, width, sleep_s):
        self.batches, self.batch_size, self.width, self.sleep_s = batches, batch_size, width, sleep_s

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        if self.sleep_s:
            time.sleep(self.sleep_s)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(self.batch_size, self.width, generator=generator)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=30)
    ap.add_argument("--width", type=int, default=256)
    ap.add_argument("--layers", type=int, default=6)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--slow-rank", type=int, default=-1)
    ap.add_argument("--sleep", type=float, default=0.0, help="seconds per batch on the slow rank")
    ap.add_argument("--loop-sleep", action="store_true", help="sleep in the loop, not the dataset")
    ap.add_argument("--print-result", action="store_true")
    args = ap.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    sleep_s = args.sleep if rank == args.slow_rank else 0.0

    layers = []
    for _ in range(args.layers):
        layers += [nn.Linear(args.width, args.width), nn.ReLU()]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = Numbers(args.steps, args.batch, args.width, 0.0 if args.loop_sleep else sleep_s)

    for batch in DataLoader(data, batch_size=None):
        if args.loop_sleep and sleep_s:
            time.sleep(sleep_s)
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()

    if args.print_result and rank == 0:
        total = sum(p.detach().double().sum().item() for p in model.parameters())
        print(json.dumps({"world": dist.get_world_size(), "sum": total.hex(), "pid": os.getpid()}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
