#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training job with DistributedDataParallel on CPU (gloo) that has three faults, one after the other.

  mpirun -np 4 ranktrace run -- python3 train_causes.py --steps 6 --seconds 0.4

Steps 1 to 6: the input of rank 1 sleeps. Steps 7 to 12: rank 2 computes more in forward. Steps 13 to 18:
a hook in backward of rank 3 sleeps. Step 0 is without; it knows nothing of ranktrace.
"""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAULTS = {1: "input", 2: "compute", 3: "hook"}  # by rank; rank r has its own in stretch r


class Fault:
    """What this rank has to endure, by step."""

    def __init__(self, rank, steps, seconds):
        self.kind, self.seconds = FAULTS.get(rank), seconds
        self.steps = range(1 + steps * (rank - 1), 1 + steps * rank) if self.kind else ()
        self.step = 0

    def is_on(self, kind):
        return kind == self.kind and self.step in self.steps


class Numbers(Dataset):
    """Random inputs."""

    def __init__(self, count, fault):
        self.count, self.fault = count, fault

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.fault.step = index  # the next one is read before its step begins
        if self.fault.is_on("input"):
            time.sleep(self.fault.seconds)
        return torch.randn(8, 64, generator=torch.Generator().manual_seed(index))


class Model(nn.Module):
    """Two layers, and what the fault adds."""

    def __init__(self, fault):
        super().__init__()
        self.first, self.second, self.fault = nn.Linear(64, 64), nn.Linear(64, 64), fault

    def forward(self, batch):
        if self.fault.is_on("compute"):
            begin = time.monotonic()
            more = torch.randn(128, 128)
            while time.monotonic() - begin < self.fault.seconds:
                more = torch.tanh(more @ more)
        hidden = torch.relu(self.first(batch))
        if hidden.requires_grad:
            hidden.register_hook(self.hook)
        return self.second(hidden)

    def hook(self, grad):
        if self.fault.is_on("hook"):
            time.sleep(self.fault.seconds)
        return grad


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=6, help="of each fault")
    ap.add_argument("--seconds", type=float, default=0.4)
    args = ap.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    fault = Fault(dist.get_rank(), args.steps, args.seconds)
    model = nn.parallel.DistributedDataParallel(Model(fault))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for batch in DataLoader(Numbers(1 + args.steps * len(FAULTS), fault), batch_size=None):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
