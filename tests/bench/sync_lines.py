#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the torch hook adds to a call that waits for the GPU: the wrapped call beside the unwrapped
one, in one run, round by round; medians. On a machine without a GPU the calls are those on CPU
tensors, once noted (RANKTRACE_SYNC_LINES=all) and once passed over, as CPU tensors are by default.

  sync_lines.py BUILD
"""
import ctypes
import os
import statistics
import sys
import time

ROUNDS, CALLS = 501, 100  # short rounds: a busy machine interrupts long ones


def per_call_ns(call):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - start) / CALLS


def main():
    build = sys.argv[1]
    sys.path.insert(0, os.path.join(build, "share", "ranktrace", "torch_hook"))
    if not os.environ.get("RANKTRACE_SOCKET"):
        sys.exit("sync_lines.py is run by 'ranktrace run'")
    try:
        import torch
    except ImportError:
        print("bench=sync_lines skipped=\"no torch\"")
        return
    import ranktrace_sync

    base = torch._C._TensorBase
    library = ctypes.PyDLL(os.environ["RANKTRACE_LIBRARY"]).ranktrace_sync_call
    library.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p]
    library.restype = None
    notes = ranktrace_sync.Notes(torch, library, print)
    tensor = torch.ones(1)
    for takes_all, what in ((True, "noted"), (False, "passed_over")):
        for name in ("item", "__bool__", "tolist"):
            setattr(torch.Tensor, name, getattr(base, name))
            plain = getattr(torch.Tensor, name)
            ranktrace_sync.wrap_tensor_call(torch, torch.Tensor, name, notes, takes_all)
            wrapped = getattr(torch.Tensor, name)
            pairs = []
            for _ in range(ROUNDS):
                pairs.append((per_call_ns(lambda: plain(tensor)), per_call_ns(lambda: wrapped(tensor))))
                time.sleep(0.0002)  # the sidecar empties the ring
            before = statistics.median(pair[0] for pair in pairs)
            after = statistics.median(pair[1] for pair in pairs)
            print(
                f"bench=sync_lines call=Tensor.{name} tensor={what} plain_ns={before:.0f} "
                f"wrapped_ns={after:.0f} added_ns={after - before:.0f} ratio={after / before:.2f}"
            )


if __name__ == "__main__":
    main()
