#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs that broke other tools, from file to report: what must come out of each, by its public number."""

import json
import pathlib
import subprocess
import sys
import tempfile

T0 = 1700000000000000 # microseconds
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def kernel(name, ts, dur, corr=0, stream=7, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": T0 + ts, "dur": dur,
            "args": {"device": 0, "stream": stream, "correlation": corr, **args}}


def launch(ts, dur, corr, tid=1):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": tid, "ts": T0 + ts, "dur": dur,
            "args": {"correlation": corr}}


def sync(ts, dur):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 1, "ts": T0 + ts, "dur": dur}


def step(number, ts, dur, name="ProfilerStep#"):
    return {"ph": "X", "cat": "user_annotation", "name": f"{name}{number}", "pid": 9, "tid": 1, "ts": T0 + ts, "dur": dur}


def trace(events, rank=0, world=1, **top):
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": world}, **top, "traceEvents": events}


class Bugs:
    def __init__(self, build, folder):
        self.build, self.folder, self.faults, self.count = build, folder, [], 0

    def report(self, *traces, options=()):
        """The report on these traces, and what merge said."""
        store = self.folder / "out.rkt"
        for old in self.folder.glob("rank*.json"):
            old.unlink()
        for i, one in enumerate(traces):
            (self.folder / f"rank{i}.json").write_text(json.dumps(one))
        merge = subprocess.run([self.build / "bin" / "ranktrace-merge", "-f", "-o", store, *options, *sorted(self.folder.glob("rank*.json"))],
                               capture_output=True, text=True, check=True)
        out = subprocess.run([self.build / "bin" / "ranktrace-report", "--format", "json", store], capture_output=True, text=True, check=True)
        result = json.loads(out.stdout)
        self.no_negative_part(result)
        result["merge"] = merge.stdout + merge.stderr
        result["text"] = " ".join(note["text"] for note in result["notes"])
        return result

    def first_starts(self):
        """{rank: job time of its first work} of the last report's timeline."""
        starts = {}
        out = subprocess.run([self.build / "tests" / "dump_work", self.folder / "out.rkt"], capture_output=True, text=True, check=True)
        for word in map(str.split, out.stdout.splitlines()):
            if word[1] != "left_out":
                starts.setdefault(int(word[0]), int(word[1]))
        return starts

    def no_negative_part(self, value, name=""):
        if isinstance(value, dict):
            for key, inner in value.items():
                self.no_negative_part(inner, key)
        elif isinstance(value, list):
            for inner in value:
                self.no_negative_part(inner, name)
        elif isinstance(value, (int, float)) and name.endswith("_ns") and name not in ("late_ns", "excess_ns", "offset_ns") and value < 0:
            self.faults.append(f"{name} is {value}")

    def equal(self, what, have, want):
        self.count += 1
        if have != want:
            self.faults.append(f"{what}: {have}, not {want}")

    def holds(self, what, text, words):
        self.count += 1
        if words not in text:
            self.faults.append(f"{what}: no '{words}' in: {text}")


def whole_microseconds(bugs):
    """BR-33, BR-34, BR-88: starts and durations cut apart, so that children outlive parents by 1 us."""
    events = []
    for i in range(4):
        at = i * 1000
        events += [step(i, at, 1001), step(0, at + 1, 1001, "forward"), launch(at + 10, 5, i + 1), kernel("k", at + 20, 900, i + 1)]
    result = bugs.report(trace(events))
    bugs.equal("BR-33 steps", [(s["number"], s["is_cut"]) for s in result["ranks"][0]["steps"]], [(i, False) for i in range(4)])
    bugs.equal("BR-33 compute", result["ranks"][0]["run"]["compute_ns"], 4 * 900_000)


def overlaps_on_a_stream(bugs):
    """BR-53, BR-54, BR-55, BR-115: zero-length kernels inside and at the edge, small overlaps: busy time is a union."""
    events = [kernel("a", 0, 100, 1), kernel("zero", 50, 0, 2), kernel("edge", 100, 0, 3), dict(kernel("b", 0, 100, 4), ts=f"{T0 + 99}.973")]
    events += [kernel(f"tie{i}", 300, 0, 10 + i) for i in range(20)] + [kernel("c", 300, 10, 40)]
    run = bugs.report(trace(events))["ranks"][0]["run"]
    bugs.equal("BR-55 compute", run["compute_ns"], 199_973 + 10_000)
    bugs.equal("BR-53 kernels", run["kernels"]["compute"], 25)


def absurd_durations(bugs):
    """BR-56: a right start, and an end seconds in the future, in the middle or at the end."""
    events = []
    for i in range(40):
        events += [launch(i * 100, 5, i + 1), kernel("k", i * 100 + 10, 50, i + 1)]
    good = bugs.report(trace(events))["ranks"][0]["run"]
    for at, dur in ((1011, 30_000_000), (3911, 30_000_000), (1011, 1_500_000)):
        more = [e for e in events if not (e["cat"] == "kernel" and e["ts"] == T0 + at - 1)] + [kernel("wrong", at, dur, 500)]
        result = bugs.report(trace(more))
        bugs.equal(f"BR-56 at {at}, {dur} us", result["ranks"][0]["left_out_count"], 1)
        bugs.holds(f"BR-56 at {at}, {dur} us", result["text"], "impossible times")
        if result["ranks"][0]["run"]["window_ns"] > good["window_ns"]:
            bugs.faults.append(f"BR-56: a window of {result['ranks'][0]['run']['window_ns']}")
    long_one = events + [launch(4000, 5, 600), kernel("long", 4010, 3_000_000, 600), launch(4020, 3_100_000, 601), kernel("k", 3_010_000, 5, 601)]
    bugs.equal("BR-56 a kernel that is long", bugs.report(trace(long_one))["ranks"][0]["left_out_count"], 0)


def before_its_launch(bugs):
    """BR-57: device times that are ahead of the host's."""
    events = [launch(100, 5, 1), kernel("early", 50, 10, 1), launch(200, 5, 2), kernel("k", 210, 10, 2)]
    bugs.holds("BR-57", bugs.report(trace(events))["text"], "1 pieces of GPU work start before their own launch")


def wrong_units(bugs):
    """BR-39: times that are far too large are no calendar's, and that is said."""
    events = [dict(kernel("k", 0, 10), ts=T0 * 3 + i * 50) for i in range(5)]
    result = bugs.report(trace(events, 0, 2), trace([kernel("k", 0, 10)], 1, 2))
    bugs.holds("BR-39", result["merge"], "past the year 2100")
    bugs.equal("BR-39", result["ranks"][0]["align_state"], "unaligned")


def ids_of_ranks(bugs):
    """BR-78, BR-80: ids restart on each rank, bases differ: each rank is as it is alone, and they meet in time."""
    def of(rank, base_us):
        events = []
        for i in range(6):
            events += [launch(i * 100 - base_us, 5 + rank * 20, i + 1), kernel("k", i * 100 + 40 - base_us, 30 + rank, i + 1)]
        return trace(events, rank, 2, baseTimeNanoseconds=base_us * 1000)
    both = bugs.report(of(0, 0), of(1, 1_000_000))
    for rank in range(2):
        alone = bugs.report(of(rank, rank * 1_000_000))["ranks"][0]["run"]
        bugs.equal(f"BR-78 rank {rank}", both["ranks"][rank]["run"], alone)
    both = bugs.report(of(0, 0), of(1, 1_000_000))
    bugs.equal("BR-80", bugs.first_starts(), {0: T0 * 1000 + 40_000, 1: T0 * 1000 + 40_000})


def work_of_the_last_step(bugs):
    """BR-86: kernels behind the host's span of the last step belong to it, by their launch."""
    events = []
    for i in range(3):
        at = i * 1000
        events += [step(i, at, 1000), launch(at + 10, 5, i + 1), kernel("k", at + 900, 600, i + 1)]
    steps = bugs.report(trace(events))["ranks"][0]["steps"]
    bugs.equal("BR-86", [s["window"]["compute_ns"] for s in steps], [600_000] * 3)


def windows_begin_elsewhere(bugs):
    """BR-98, BR-99, BR-105: captures begin and end at different collectives; one is missing on a rank."""
    def of(rank, first, end, without=()):
        return trace([kernel(NCCL, i * 1000 + (i * i * 37) % 211 + rank * 3, 100, i + 1, 20) for i in range(first, end) if i not in without], rank, 2)
    result = bugs.report(of(0, 0, 30), of(1, 3, 33, without=(17,)))
    bugs.equal("BR-98 matched", sum(len(c["ranks"]) == 2 for c in result["collectives"]), 26)
    bugs.equal("BR-98 spread", max(c["start_spread_ns"] for c in result["collectives"] if len(c["ranks"]) == 2), 3000)
    bugs.equal("BR-99 unmatched", result["unmatched_count"], 3 + 3 + 1)


def clocks_of_hosts(bugs):
    """BR-40: two hosts whose clocks differ: they are aligned and it is said by how much they were off; where they are not, a
    rank seems to end before another began, and that is said. One collective bounds them by both its durations; none at all leaves
    them as the files claim, to no bound."""
    def of(rank, shift, count=20, name=NCCL):
        return trace([kernel(name, i * 1000 + shift, 100, i + 1, 20) for i in range(count)], rank, 2, host_name=f"host{rank}")
    result = bugs.report(of(0, 0), of(1, 350))
    bugs.holds("BR-40 said", result["merge"], "the stamps of 1 were off, most those of rank 1, by 350.")
    bugs.equal("BR-40 states", [rank["align_state"] for rank in result["ranks"]], ["reference", "from collectives"])
    bugs.equal("BR-40 spread", max(c["start_spread_ns"] for c in result["collectives"]) < 1000, True)
    result = bugs.report(of(0, 0), of(1, 350), options=["--no-align"])
    bugs.holds("BR-40 as claimed", result["text"], "a rank ended before another began")
    bugs.equal("BR-40 states as claimed", {rank["align_state"] for rank in result["ranks"]}, {"wall clock"})
    result = bugs.report(of(0, 0, 1), of(1, 350, 1))
    bugs.equal("BR-40 by one", [rank["align_state"] for rank in result["ranks"]], ["reference", "from collectives"])
    bugs.equal("BR-40 bound by one", 100_000 <= result["ranks"][1]["bound_ns"] <= 103_000, True)
    bugs.equal("BR-40 blurred by one", [c["start_spread_is_distinguishable"] for c in result["collectives"]], [False])
    result = bugs.report(of(0, 0, name="gemm"), of(1, 350, name="gemm"))
    bugs.equal("BR-40 by none", {(rank["align_state"], rank["bound_ns"]) for rank in result["ranks"]}, {("wall clock", None)})
    bugs.holds("BR-40 said by none", result["merge"], "no collectives tie the ranks: as the files' stamps claim")


def who_holds_up(bugs):
    """BR-103, BR-104: one rank computes 200 ms longer; the AllReduce, which the next step waits for, makes all of them as slow. That one is named, be it rank 0 or not."""
    for late in (0, 2):
        def of(rank, late=late):
            events = []
            for i in range(10):
                at, work = i * 310_045, 300_000 if rank == late else 100_000
                events += [step(i, at, 310_040), launch(at + 10, 5, i * 10 + 1), kernel("backward_gemm", at + 20, work, i * 10 + 1),
                           launch(at + 30, 5, i * 10 + 2), sync(at + 40, 309_995),
                           kernel(NCCL, at + 30 + work, 310_030 - work, i * 10 + 2, 20, **{"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float",
                                  "Group size": 4, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": i})]
            return trace(events, rank, 4)
        straggler = bugs.report(*(of(rank) for rank in range(4)))["straggler"]
        bugs.equal(f"BR-104 rank {late}", (straggler["is_found"], straggler.get("rank")), (True, late))


def graphs(bugs):
    """BR-112: kernels of a graph have no call of their own: work all the same, its idle time of unknown cause."""
    events = [kernel("node", i * 100, 50, 0, **{"graph id": 1, "graph node id": i + 1}) for i in range(10)]
    run = bugs.report(trace(events))["ranks"][0]["run"]
    bugs.equal("BR-112 compute", run["compute_ns"], 10 * 50_000)
    bugs.equal("BR-112 idle", run["parts_ns"]["idle"]["unknown"], 9 * 50_000)


def repeated_nodes(bugs):
    """BR-113: of a node that a graph repeats the first turn alone is recorded: what follows is no idle time, and that is said."""
    def call(name, ts, dur, corr=0):
        return dict(launch(ts, dur, corr), name=name)
    graph = [call("cudaGraphLaunch", 0, 10, 1), kernel("body", 20, 50, 1, **{"graph id": 1, "graph node id": 1})]
    waits = [call("cudaStreamSynchronize", 15, 5000, 2), launch(5020, 5, 3), kernel("k", 5030, 10, 3)]
    queued = [call("cudaMemcpyAsync", 15, 5, 2), dict(kernel("Memcpy DtoH (Device -> Pinned)", 6000, 10, 2), cat="gpu_memcpy")]
    said = "after 1 launches of CUDA graphs the device worked on for"
    bugs.holds("BR-113 the host waits", bugs.report(trace(graph + waits))["text"], f"{said} 4.945 ms")
    bugs.holds("BR-113 at the end", bugs.report(trace(graph + waits[:1]))["text"], f"{said} 4.945 ms")
    bugs.holds("BR-113 a copy is queued behind", bugs.report(trace(graph + queued))["text"], f"{said} 5.930 ms")
    plain = [call("cudaLaunchKernel", 0, 10, 1), kernel("body", 20, 50, 1)]
    late = [launch(5020, 5, 3), kernel("k", 5030, 10, 3)] # the host is busy: that is idle time
    whole = [dict(kernel("body", 20, 4970, 1, **{"graph id": 1, "graph node id": 1}))]
    for what, events in (("no graph", plain + waits), ("a late host", graph + late), ("all is recorded", graph[:1] + whole + waits)):
        bugs.equal(f"BR-113 {what}", "worked on for" in bugs.report(trace(events))["text"], False)


def names_of_kernels(bugs):
    """BR-91, BR-60, BR-106: by name comm is NCCL's own kernels alone; annotations are no work."""
    events = [kernel("hipBLASLt_gemm", 0, 10, 1), kernel(NCCL, 20, 10, 2),
              {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 9, "tid": 1, "ts": T0, "dur": 100},
              {"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "pid": 0, "tid": 7, "ts": T0, "dur": 100}]
    run = bugs.report(trace(events))["ranks"][0]["run"]
    bugs.equal("BR-91", (run["compute_ns"], run["comm_ns"], run["window_ns"]), (10_000, 10_000, 30_000))


def run_checks(checks):
    """The exit code of a test of these; the build folder is its argument."""
    build = pathlib.Path(sys.argv[1])
    if not (build / "bin" / "ranktrace-merge").exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        bugs = Bugs(build, pathlib.Path(folder))
        for check in checks:
            check(bugs)
    print("\n".join(bugs.faults) or f"{bugs.count} results as they must be")
    return 1 if bugs.faults else 0


if __name__ == "__main__":
    sys.exit(run_checks((whole_microseconds, overlaps_on_a_stream, absurd_durations, before_its_launch, wrong_units, ids_of_ranks,
                         work_of_the_last_step, windows_begin_elsewhere, clocks_of_hosts, who_holds_up, graphs, repeated_nodes,
                         names_of_kernels)))
