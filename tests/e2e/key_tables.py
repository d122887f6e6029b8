#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Key tables of real traces against a count by brute force over their JSON.

  key_tables.py BUILD_FOLDER

Kernels, copies, calls and operators of every rank, over the steps that the report calls steady. Shares
nothing with the product but its steps. Skipped (77) where the traces are not there.
"""
import bisect
import collections
import decimal
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
SETS = ["nanogpt_h100_8rank", "ns_resolution_trace", "param_dlrm_kineto_8rank"]
COMM = re.compile(r"^(nccl|rccl|msccl|oneccl)|ncclKernel|ncclDevKernel|ncclSymk|cross_device_reduce|nvshmem|"
                  r"multimem_all_reduce", re.I)
COPY = {"gpu_memcpy", "memcpy", "gpu_memset", "memset"}
CALL = {"cuda_runtime", "cuda_driver"}


def ns(value):
    return int(decimal.Decimal(str(value)) * 1000)


class Trace:
    """One rank's records, in ns."""

    def __init__(self, path):
        document = json.loads(gzip.open(path).read(), parse_float=decimal.Decimal, strict=False)
        self.rank = document.get("distributedInfo", {}).get("rank")
        self.works, self.calls, self.operators = [], [], []
        for event in document["traceEvents"]:
            category = str(event.get("cat", "")).lower()
            if event.get("ph") != "X":
                continue
            start = ns(event["ts"])
            record = (start, start + ns(event["dur"]), event)
            if category == "kernel" or category in COPY:
                self.works.append(record)
            elif category in CALL:
                self.calls.append(record)
            elif category == "cpu_op":
                self.operators.append(record)

    def launches(self):
        """The outermost call by correlation: of a runtime and a driver call the one that began first."""
        calls = {}
        for start, end, event in self.calls:
            key = event.get("args", {}).get("correlation", 0)
            known = calls.get(key)
            if key and (known is None or (start, -end) < (known[0], -known[1])):
                calls[key] = (start, end, (event["pid"], event["tid"]))
        return calls


class Steps:
    """Which moments of the host are in steady steps."""

    def __init__(self, rank, trace):
        """The report's stamps count from another moment than the file's."""
        shift = rank["run"]["start_ns"] - min(work[0] for work in trace.works)
        self.steps = rank["steps"]
        for step in self.steps:
            step["host_start_ns"] -= shift
            step["host_end_ns"] -= shift
            if step["window"]:
                step["window"]["start_ns"] -= shift
        self.starts = [step["host_start_ns"] for step in self.steps]
        self.is_all = not any(map(self.counts, self.steps))

    @staticmethod
    def counts(step):
        return step["is_recorded"] and not step["is_warmup"]

    def has(self, time):
        at = bisect.bisect_right(self.starts, time) - 1
        if self.is_all:
            return True
        return at >= 0 and time < self.steps[-1]["host_end_ns"] and self.counts(self.steps[at])

    def has_work(self, work, launch):
        if launch is not None:
            return self.has(launch[0])
        for step in self.steps:
            window = step["window"]
            if window and 0 <= work[0] - window["start_ns"] < window["window_ns"]:
                return self.is_all or self.counts(step)
        return self.is_all


def add(table, key, **values):
    row = table[key]
    row["count"] = row.get("count", 0) + 1
    for name, value in values.items():
        row[name] = row.get(name, 0) + value


def add_kernel(table, work, launch):
    start, end, event = work
    kind = "comm" if COMM.search(event["name"]) else "compute"
    row = table[(kind, event["name"])]
    row["min_ns"] = min(row.get("min_ns", end - start), end - start)
    row["max_ns"] = max(row.get("max_ns", 0), end - start)
    is_graph = bool(event["args"].get("graph node id") or event["args"].get("graph id"))
    has_launch = launch is not None and not is_graph
    add(table, (kind, event["name"]), total_ns=end - start, short_count=end - start <= 3000,
        launch_count=has_launch, launch_ns=launch[1] - launch[0] if has_launch else 0)


def add_copy(table, work, launch):
    start, end, event = work
    size = int(event["args"].get("bytes", 0))
    kind = re.search(r"HtoD|DtoH|DtoD|PtoP|HtoH|Memset", event["name"])
    ends = re.search(r"\((\w+) -> (\w+)\)", event["name"])
    name = f"{ends[1].lower()} to {ends[2].lower()}" if ends else ""
    from_bytes = 1 << size.bit_length() - 1 if size else 0
    add(table, (kind[0] if kind else "other", name, from_bytes), total_ns=end - start, bytes=size,
        wait_count=launch is not None and launch[1] >= end)


def count_operators(trace, steps, launches, table):
    """Innermost: that of those open at a moment which began last."""
    lanes = collections.defaultdict(list)
    for start, end, event in trace.operators:
        lanes[(event["pid"], event["tid"])].append((start, -end, 0, event["name"], 0))
    for start, end, event in trace.works:
        launch = launches.get(event["args"].get("correlation", 0))
        if launch and launch[2] in lanes:
            lanes[launch[2]].append((launch[0], -launch[0], 1, None, end - start))
    for lane in lanes.values():
        open_ones = []  # [end, row]
        for start, minus_end, is_launch, name, device in sorted(lane, key=lambda entry: entry[:3]):
            open_ones = [entry for entry in open_ones if entry[0] > start]
            if is_launch:
                for entry in open_ones:
                    entry[1]["device_ns"] += device
                if open_ones:
                    open_ones[-1][1]["self_device_ns"] += device
                    open_ones[-1][1]["launch_count"] += 1
                continue
            end = -minus_end
            row = dict(total_ns=end - start, self_host_ns=end - start, device_ns=0, self_device_ns=0, launch_count=0)
            if open_ones:
                open_ones[-1][1]["self_host_ns"] -= min(end, open_ones[-1][0]) - start
            open_ones.append([end, row])
            table.append((steps.has(start), name, row))


def brute_force(trace, steps):
    tables = {name: collections.defaultdict(dict) for name in ("kernels", "copies", "calls", "operators")}
    launches = trace.launches()
    for work in trace.works:
        launch = launches.get(work[2]["args"].get("correlation", 0))
        if not steps.has_work(work, launch):
            continue
        if work[2]["cat"].lower() in COPY:
            add_copy(tables["copies"], work, launch)
        else:
            add_kernel(tables["kernels"], work, launch)
    for start, end, event in trace.calls:
        if steps.has(start):
            add(tables["calls"], event["name"], total_ns=end - start)
    rows = []
    count_operators(trace, steps, launches, rows)
    for is_in, name, row in rows:
        if is_in:
            add(tables["operators"], ("operator", name), **row)
    return tables


def join(of_ranks):
    """One table of all ranks, with the totals of each."""
    joined = {}
    for position, table in enumerate(of_ranks):
        for key, row in table.items():
            into = joined.setdefault(key, {"total_ns_by_rank": [None] * len(of_ranks)})
            into["total_ns_by_rank"][position] = row["total_ns"]
            for name, value in row.items():
                choose = {"min_ns": min, "max_ns": max}.get(name, lambda a, b: a + b)
                into[name] = choose(into[name], value) if name in into else value
    return joined


def key_of(table, row):
    if table == "calls":
        return row["name"]
    if table == "copies":
        return row["kind"], row["name"], row["from_bytes"]
    return row["kind"], row["name"]


def rows_of(table, rows):
    """By key; of calls of one name that may or may not wait there are two rows."""
    joined = {}
    for row in rows:
        if row["count"] == 0:
            continue
        known = joined.setdefault(key_of(table, row), dict(row))
        if known != row:
            assert table == "calls"
            known["count"] += row["count"]
            known["total_ns"] += row["total_ns"]
            known["total_ns_by_rank"] = [None if a is None and b is None else (a or 0) + (b or 0) for a, b in
                                         zip(known["total_ns_by_rank"], row["total_ns_by_rank"])]
    return joined


def compare(table, got, want):
    lines = []
    for key in sorted(set(got) | set(want), key=str):
        if key not in got or key not in want:
            lines.append(f"{table} {key}: {'missing' if key in want else 'is in no trace'}")
            continue
        for name, value in want[key].items():
            if got[key][name] != value:
                lines.append(f"{table} {key}: {name} is {got[key][name]}, not {value}")
    return lines


def check(ranktrace, folder, name):
    files = sorted((DATA / name).glob("*.json.gz"))
    timeline = folder / "run.rkt"
    subprocess.run([ranktrace, "merge", "--force", "--quiet", "-o", timeline, *files], check=False)
    report = json.loads(subprocess.run([ranktrace, "report", "-f", "json", timeline], check=True,
                                       stdout=subprocess.PIPE).stdout)
    traces = {trace.rank or 0: trace for trace in map(Trace, files)}
    counted = [brute_force(traces[rank["rank"]], Steps(rank, traces[rank["rank"]])) for rank in report["ranks"]]
    lines, rows = [], 0
    for table in ("kernels", "copies", "calls", "operators"):
        want = join([of_rank[table] for of_rank in counted])
        lines += compare(table, rows_of(table, report["tables"][table]), want)
        rows += len(want)
    exposed = sum(row["exposed_ns"] for row in report["tables"]["copies"])
    sync = sum(row["idle_ns"] + row["tail_ns"] for row in report["tables"]["calls"])
    parts = report["summary"]["parts_ns"]
    if exposed != sum(parts["copy"].values()):
        lines.append(f"copies expose {exposed}, the partition has {sum(parts['copy'].values())}")
    if sync != parts["idle"]["sync"]:
        lines.append(f"calls made {sync} of sync, the partition has {parts['idle']['sync']}")
    return rows, [f"{name}: {line}" for line in lines]


def main():
    if not DATA.is_dir():
        print(f"skipped: no traces under {DATA}")
        return 77
    ranktrace = pathlib.Path(sys.argv[1]).resolve() / "bin" / "ranktrace"
    failed, total = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            rows, lines = check(ranktrace, pathlib.Path(folder), name)
            total += rows
            failed += lines
    for line in failed[:30]:
        print(line)
    print(f"{total} rows of {len(SETS)} sets compared, {len(failed)} differences")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
