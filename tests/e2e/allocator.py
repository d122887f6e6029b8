#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's allocator holds, of a profile with profile_memory=True.

    allocator.py BUILD_FOLDER

"[memory]" events are imported, and the report says what is held in the steady steps and not in use.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

RANKTRACE = pathlib.Path(sys.argv[1]).resolve() / "bin" / "ranktrace"
STEP_US = 1000
# At the middle of each step: reserved, allocated. What is held at the end is no longer in a step.
LEVELS = [(1 << 20, 1 << 20), (4 << 20, 3 << 20), (4 << 20, 1 << 20), (2 << 20, 2 << 20)]


def memory(at_us, reserved, allocated):
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": at_us,
            "args": {"Total Reserved": reserved, "Total Allocated": allocated, "Bytes": 512, "Device Id": 0,
                     "Device Type": 1, "Addr": 4096}}


def trace():
    events = []
    for i, (reserved, allocated) in enumerate(LEVELS):
        start_us = 1000 + i * STEP_US
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": start_us,
             "dur": STEP_US},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start_us + 10,
             "dur": 5, "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": start_us + 20, "dur": 900,
             "args": {"device": 0, "stream": 7, "correlation": i + 1}},
            memory(start_us + 500, reserved, allocated)]
    return {"traceEvents": [*events, memory(1000 + len(LEVELS) * STEP_US + 500, 9 << 20, 0)],
            "distributedInfo": {"rank": 0, "world_size": 1}}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "trace.json").write_text(json.dumps(trace()))
        run(RANKTRACE, "merge", "-o", folder / "run.rkt", folder / "trace.json")
        report = json.loads(run(RANKTRACE, "report", "-f", "json", folder / "run.rkt"))
    use = report["ranks"][0]["allocator"]
    got = {key: use[key] for key in ("device_id", "reserved_bytes", "allocated_bytes", "gap_bytes")}
    want = {"device_id": 0, "reserved_bytes": 4 << 20, "allocated_bytes": 3 << 20, "gap_bytes": 3 << 20}
    if got != want:
        sys.exit(f"the allocator's memory is {got}, not {want}")
    texts = [finding["what"] for finding in report["findings"] if finding["id"] == "allocator_gap"]
    if len(texts) != 1 or "up to 3 MiB that no tensor uses, of up to 4 MiB (rank 0)" not in texts[0].replace(".000", ""):
        sys.exit(f"findings: {texts}")


main()
