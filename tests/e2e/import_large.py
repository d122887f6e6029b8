#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace of 2 GB, made as it is read, imports whole and in memory that does not grow with it."""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading

BYTES = 2 << 30
BLOCK_EVENTS = 20000
PEAK_KIB_MAX = 64 << 10


def write_trace(path, counts):
    """Kernels and their launches; stamps and correlation ids go on, so that no block is like another."""
    with open(path, "wb", buffering=1 << 20) as out:
        out.write(b'{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [\n')
        written, events = 0, 0
        template = ('{"ph": "X", "cat": "%s", "name": "void at::native::vectorized_elementwise_kernel<4, Functor_%%d<float> >(int)",'
                    ' "pid": %d, "tid": 7, "ts": 17%%014d, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": %%d}},\n')
        kernel, launch = template % ("kernel", 0), template % ("cuda_runtime", 4515)
        while written < BYTES:
            block = "".join((kernel if i % 2 else launch) % (i % 61, events + i, (events + i) // 2 + 1) for i in range(BLOCK_EVENTS))
            out.write(block.encode())
            written, events = written + len(block), events + BLOCK_EVENTS
        out.write(b'{"ph": "M"}\n], "baseTimeNanoseconds": 0}\n')
    counts.append(events)


def main():
    merge = pathlib.Path(sys.argv[1]) / "bin" / "ranktrace-merge"
    if not merge.exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        trace, store, counts = pathlib.Path(folder) / "rank0.json", pathlib.Path(folder) / "out.rkt", []
        os.mkfifo(trace)
        writer = threading.Thread(target=write_trace, args=(trace, counts))
        writer.start()
        child = subprocess.Popen([merge, "-o", store, trace], stdout=subprocess.PIPE, text=True)
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        writer.join()
        print(f"{said.strip()}\npeak {usage.ru_maxrss} KiB, CPU {usage.ru_utime:.1f} s")
        wrong = []
        if child.returncode != 0:
            wrong.append(f"exit code {child.returncode}")
        if f"{counts[0] + 1} read = {counts[0]} stored + 1 names" not in said:
            wrong.append(f"{counts[0]} events were written")
        if usage.ru_maxrss > PEAK_KIB_MAX:
            wrong.append(f"a peak of {usage.ru_maxrss} KiB")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
