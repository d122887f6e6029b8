#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What 'ranktrace merge' and 'report' cost as programs, beside Python's json.load on the same file.

  bench_import.py BUILD [TRACE.json[.gz]]     one logfmt line per number; never fails on a figure

Times are CPU seconds where they are per core, else of the wall; memory is the peak of the process. The
trace is made up where none is given, and 8 ranks of a job are copies of it with other ranks, shifted.
"""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
RANKS = 8
ROUNDS = 5


def made_up(launches=90000):
    """About 54 MB, as Kineto writes it: operators, launches, kernels, arrows."""
    out = ['{\n  "schemaVersion": 1,\n  "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},\n  "traceEvents": [']
    for i in range(launches):
        ts = 1700000000000000 + i * 40
        head = f'"pid": 4515, "tid": 4515,\n    "ts": {ts}, "dur": 9'
        out.append(f'''  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::op_{i % 97}", {head},
    "args": {{
      "External id": {i},"Ev Idx": {i}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {head},
    "args": {{
      "External id": {i}, "cbid": 211, "correlation": {i + 1}
    }}
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "void vectorized_elementwise_kernel<4, Functor_{i % 61}<float> >(int)", "pid": 0, "tid": 7,
    "ts": {ts + 20}, "dur": 17,
    "args": {{
      "External id": {i}, "device": 0, "context": 1, "stream": 7, "correlation": {i + 1}, "grid": [{i % 61}, 1, 1], "block": [128, 1, 1]
    }}
  }},''')
    return "\n".join(out).rstrip(",") + "\n]}\n"


def load(path):
    raw = pathlib.Path(path).read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "replace")


def of_rank(text, rank):
    """The same events as another rank of 8 saw them, some microseconds later."""
    text = re.sub(r'"rank": \d+, "world_size": \d+', f'"rank": {rank}, "world_size": {RANKS}', text, count=1)
    return re.sub(r'"ts": (\d+)', lambda m: f'"ts": {int(m.group(1)) + rank * 137}', text)


def run(*command):
    """(wall seconds, CPU seconds, peak KiB) of the best of some rounds."""
    best = None
    with tempfile.NamedTemporaryFile("r") as used:
        for _ in range(ROUNDS):
            start = time.monotonic()
            code = subprocess.call([str(word) for word in (BUILD / "tests" / "bench_usage", used.name, *command)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wall_s = time.monotonic() - start
            if code != 0:
                sys.exit(f"{command}: exit code {code}")
            used.seek(0)
            cpu_us, peak_kib = map(int, used.read().split())
            one = (wall_s, cpu_us / 1e6, peak_kib)
            best = one if best is None else tuple(map(min, one, best))
    return best


def pythons():
    """That of the path, and the system's where it is another one."""
    found = dict.fromkeys(filter(None, (shutil.which("python3"), "/usr/bin/python3")))
    return [python for python in found if os.access(python, os.X_OK)]


def make(folder, trace):
    """In a process of its own: a child's peak counts what its parent held when it was started."""
    text = load(trace) if trace else made_up()
    (folder / "one.json").write_text(text)
    (folder / "one.json.gz").write_bytes(gzip.compress(text.encode(), 6))
    (folder / "ranks").mkdir()
    for rank in range(RANKS):
        (folder / "ranks" / f"rank{rank}.json").write_text(of_rank(text, rank))


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    if sys.argv[1] == "--make":
        return make(pathlib.Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
    merge, report = BUILD / "bin" / "ranktrace-merge", BUILD / "bin" / "ranktrace-report"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, "--make", folder, *sys.argv[2:3]], check=True)
        folder = pathlib.Path(folder)
        one, packed, ranks, store = folder / "one.json", folder / "one.json.gz", folder / "ranks", folder / "out.rkt"
        megabytes = one.stat().st_size / 1e6
        subprocess.run([BUILD / "tests" / "bench_import", one], check=True)
        _, plain_s, plain_kib = run(merge, "-q", "-f", "-o", store, one)
        _, packed_s, _ = run(merge, "-q", "-f", "-o", store, packed)
        print(f"bench=merge_one json_mb={megabytes:.1f} cpu_ms={plain_s * 1e3:.1f} json_mb_per_cpu_s={megabytes / plain_s:.0f} "
              f"gz_json_mb_per_cpu_s={megabytes / packed_s:.0f} peak_mib={plain_kib / 1024:.1f}")
        for python in pythons():
            _, python_s, python_kib = run(python, "-c", f"import json; json.load(open({str(one)!r}))")
            print(f"bench=json_load python={python} cpu_ms={python_s * 1e3:.0f} peak_mib={python_kib / 1024:.0f} "
                  f"merge_is_times_as_fast={python_s / plain_s:.1f}")
        merge_wall, merge_cpu, merge_kib = run(merge, "-q", "-f", "-o", store, ranks)
        report_wall, report_cpu, report_kib = run(report, store)
        print(f"bench=merge_{RANKS}_ranks json_mb={RANKS * megabytes:.0f} merge_s={merge_wall:.2f} merge_cpu_s={merge_cpu:.2f} "
              f"cores_used={merge_cpu / merge_wall:.1f} report_s={report_wall:.2f} report_cpu_s={report_cpu:.2f} "
              f"both_s={merge_wall + report_wall:.2f} merge_peak_mib={merge_kib / 1024:.0f} report_peak_mib={report_kib / 1024:.0f} "
              f"store_mb={store.stat().st_size / 1e6:.1f} load={os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
