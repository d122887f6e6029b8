#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch process with real DataLoader workers, which mark as it does itself (torch_loader.sh).

    torch_loader.py LIBRARY fork|spawn
"""
import ctypes
import multiprocessing
import sys

import torch
from torch.utils.data import DataLoader, Dataset

LIBRARY = ctypes.CDLL(sys.argv[1])


class Numbers(Dataset):
    """Each item is marked by the worker that makes it."""

    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 64

    def __getitem__(self, index):
        ctypes.CDLL(self.path).ranktrace_mark(b"of a loader")
        return torch.tensor(index)


if __name__ == "__main__":
    assert LIBRARY.ranktrace_is_active()
    loader = DataLoader(Numbers(sys.argv[1]), batch_size=4, num_workers=3,
                        multiprocessing_context=multiprocessing.get_context(sys.argv[2]))
    for epoch in range(2):
        for batch in loader:
            LIBRARY.ranktrace_mark(b"of training")
