#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import -> export -> import: the second timeline's analysis is the first one's, number by number.

Always on a job made up here; on the public traces where they are.
"""

import json
import pathlib
import sys
import tempfile

from public_traces import SHARED, run

# What a timeline says of its making, not of the job.
OF_THE_FILE = {"start_realtime_ns", "file", "event_count", "loss_count", "losses", "left_out_count", "is_cut_short", "end", "notes", "finding_counts"}
# Findings that come of losses, which an export does not hold.
OF_LOSSES = {"capture_overhead", "lost_records"}
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def made_up(rank):
    """Steps with launches, kernels, copies, a collective and annotations that cross; names of all kinds."""
    events, t0 = [{"ph": "M", "name": "thread_name", "pid": 9, "tid": 2, "args": {"name": "pt_autograd_0"}}], 1700000000000000
    for step in range(6):
        at = t0 + step * 1000 + rank * 3
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 1, "ts": at, "dur": 990.125})
        events.append({"ph": "X", "cat": "user_annotation", "name": "crosses \"it\"\n", "pid": 9, "tid": 1, "ts": at + 900, "dur": 200})
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 9, "tid": 1, "ts": at + 5, "dur": 300,
                       "args": {"Input Dims": [[8 + step % 3, 64], []], "Input type": ["float", "a \"type\""]}})
        for i in range(8):
            corr, tid = step * 100 + i + 1, 1 + i // 4
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": tid, "ts": at + i * 50, "dur": 7,
                           "args": {"correlation": corr, "cbid": 211}})
            args = {"device": rank, "stream": 7 + i % 2, "correlation": corr, "grid": [i + 1, 2, 3], "block": [128, 1, 1],
                    "registers per thread": 32, "shared memory": 1024}
            name = f"k{i}"
            if i == 7:
                name = NCCL
                args |= {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float", "Group size": 2,
                         "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Seq": step}
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": rank, "tid": args["stream"], "ts": at + i * 50 + 20, "dur": 41.375, "args": args})
        events.append({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": rank, "tid": 7, "ts": at + 600, "dur": 25,
                       "args": {"device": rank, "stream": 7, "correlation": step * 100 + 50, "bytes": 4096}})
        events.append({"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": rank, "tid": 7, "ts": at + 630, "dur": 2,
                       "args": {"device": rank, "stream": 7, "correlation": step * 100 + 51, "bytes": 64}})
        events.append({"ph": "i", "cat": "user", "name": "a mark", "pid": 9, "tid": 1, "ts": at + 640, "s": "t"})
        events.append({"ph": "X", "cat": "gpu_user_annotation", "name": "on the GPU", "pid": rank, "tid": 7, "ts": at + 10, "dur": 500})
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 1000 * (rank + 1), "traceEvents": events}


def without(value):
    if isinstance(value, dict):
        return {key: without(inner) for key, inner in value.items() if key not in OF_THE_FILE}
    if isinstance(value, list):
        return [without(inner) for inner in value if not (isinstance(inner, dict) and inner.get("id") in OF_LOSSES)]
    return value


def differences(a, b, where=""):
    """Places where two reports differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            yield from differences(a.get(key), b.get(key), f"{where}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, pair in enumerate(zip(a, b)):
            yield from differences(*pair, f"{where}[{i}]")
    elif a != b:
        yield f"{where}: {str(a)[:60]} became {str(b)[:60]}"


def check(build, files, folder):
    reports, source = [], files
    for turn in range(2):
        store, out = folder / f"{turn}.rkt", folder / f"{turn}.json"
        said = run(build / "bin" / "ranktrace-merge", "--force", "--no-align", "-o", store, *source)
        reports.append(without(json.loads(run(build / "bin" / "ranktrace-report", "--format", "json", store))))
        run(build / "bin" / "ranktrace-export", "--format", "chrome", "-o", out, store)
        source = [out]
    wrong = list(differences(*reports))
    if "ranktrace's own export" not in said:
        wrong.append(f"the export was not known again: {said}")
    if (folder / "0.json").read_bytes() != (folder / "1.json").read_bytes():
        wrong += ["the second export is another file than the first"] if not same_events(folder) else []
    print(f"{files[0].parent.name}/{files[0].name}: {len(wrong)} differences")
    for line in wrong[:10]:
        print(f"    {line}")
    return len(wrong)


def same_events(folder):
    """Are both exports the same but for what is said of the file?"""
    first, second = (without(json.loads((folder / f"{turn}.json").read_text())) for turn in range(2))
    for doc in (first, second):
        doc.pop("otherData")
    return not any(differences(first, second))


def main():
    build, wrong = pathlib.Path(sys.argv[1]), 0
    if not (build / "bin" / "ranktrace-merge").exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = []
        for rank in range(2):
            files.append(folder / f"rank{rank}.json")
            files[-1].write_text(json.dumps(made_up(rank)))
        wrong += check(build, files, folder)
        for name in ("param_dlrm_kineto_8rank", "nanogpt_h100_8rank", "nccl_parser_config", "trace_filter"):
            public = sorted((SHARED / "data" / name).glob("*.json.gz"))
            if public:
                wrong += check(build, public, folder)
            else:
                print(f"no {SHARED / 'data' / name}: not looked at")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
