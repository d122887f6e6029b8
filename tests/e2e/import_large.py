#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace of 2 GB, made as it is read, imports whole and in memory that does not grow with it; and so does
a plain file."""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading

STREAM_BYTES = 2 << 30
FILE_BYTES = 256 << 20
BLOCK_EVENTS = 20000
PEAK_KIB_MAX = 64 << 10


def write_trace(path, byte_count, counts):
    """Kernels and their launches; stamps and correlation ids go on, so that no block is like another."""
    with open(path, "wb", buffering=1 << 20) as out:
        out.write(b'{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [\n')
        written, events = 0, 0
        template = ('{"ph": "X", "cat": "%s", "name": "void at::native::vectorized_elementwise_kernel<4, Functor_%%d<float> >(int)",'
                    ' "pid": %d, "tid": 7, "ts": 17%%014d, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": %%d}},\n')
        kernel, launch = template % ("kernel", 0), template % ("cuda_runtime", 4515)
        while written < byte_count:
            block = "".join((kernel if i % 2 else launch) % (i % 61, events + i, (events + i) // 2 + 1) for i in range(BLOCK_EVENTS))
            out.write(block.encode())
            written, events = written + len(block), events + BLOCK_EVENTS
        out.write(b'{"ph": "M"}\n], "baseTimeNanoseconds": 0}\n')
    counts.append(events)


def run(merge, trace, store):
    """What an import says, and what it used."""
    child = subprocess.Popen([merge, "-o", store, "--force", trace], stdout=subprocess.PIPE, text=True)
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    print(f"{said.strip()}\npeak {usage.ru_maxrss} KiB, CPU {usage.ru_utime:.1f} s")
    return child.returncode, said, usage.ru_maxrss


def judge(what, event_count, code, said, peak_kib):
    wrong = []
    if code != 0:
        wrong.append(f"{what}: exit code {code}")
    if f"{event_count + 1} read = {event_count} stored + 1 names" not in said:
        wrong.append(f"{what}: {event_count} events were written")
    if peak_kib > PEAK_KIB_MAX:
        wrong.append(f"{what}: a peak of {peak_kib} KiB")
    return wrong


def check_stream(merge, folder):
    trace, counts = folder / "stream.json", []
    os.mkfifo(trace)
    writer = threading.Thread(target=write_trace, args=(trace, STREAM_BYTES, counts))
    writer.start()
    outcome = run(merge, trace, folder / "out.rkt")
    writer.join()
    return judge("stream", counts[0], *outcome)


def check_file(merge, folder):
    trace, counts = folder / "rank0.json", []
    write_trace(trace, FILE_BYTES, counts)
    return judge("file", counts[0], *run(merge, trace, folder / "out.rkt"))


def main():
    merge = pathlib.Path(sys.argv[1]) / "bin" / "ranktrace-merge"
    if not merge.exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        wrong = check_stream(merge, pathlib.Path(folder)) + check_file(merge, pathlib.Path(folder))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
