#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranktrace merge and align: ranks whose stamps are off by up to 50 ms are found by their collectives; where these
tell nothing, or what cannot be, nothing is shown as if it were aligned."""

import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from public_traces import SHARED, run

WIDTH_MAX_NS = 300_000  # what the eight collectives of the traces allow


def write_shifted(path, doc, shift_us):
    events = [
        {**event, "ts": event["ts"] + shift_us} if "ts" in event and event.get("ph") != "M" else event
        for event in doc["traceEvents"]
    ]
    with gzip.open(path, "wt", compresslevel=1) as out:
        json.dump({**doc, "traceEvents": events}, out)


def claims_noted(notes):
    return [note for note in notes if "'ranktrace align' aligns such ranks" in note]


class Job:
    """A set of files, merged and aligned by collectives."""

    def __init__(self, build, folder, files):
        self.build, self.folder = build, folder
        merged, self.timeline = folder / "merged.rkt", folder / "aligned.rkt"
        run(build / "bin" / "ranktrace-merge", "--quiet", "--force", "--no-align", "-o", merged, *files)
        self.said = run(build / "bin" / "ranktrace-align", "-f", "-o", self.timeline, merged)
        out = folder / "report.json"
        run(build / "bin" / "ranktrace-report", "--format", "json", "-o", out, self.timeline)
        self.report = json.loads(out.read_text())
        run(build / "bin" / "ranktrace-report", "--format", "json", "-o", out, merged)
        self.notes_before = [note["text"] for note in json.loads(out.read_text())["notes"]]
        self.merged_said = run(build / "bin" / "ranktrace-merge", "--force", "-o", merged, *files)
        again = run(build / "bin" / "ranktrace-align", merged)
        assert again.count(" (as stored)") == len(files), f"merge and align differ: {again}"

    def offsets(self):
        """Of each rank: what is added to its stamps, and the bound at that place."""
        for line in run(self.build / "tests" / "store_summary", self.timeline).splitlines():
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if words.get("role") == "rank":
                yield int(words["rank"]), words["align"], int(words["offset_ns"]), int(words["bound_ns"])

    def waits(self):
        """Clock-free waits of each collective, in order of its func."""
        by_func = {}
        for collective in self.report["collectives"]:
            waits = sorted((part["rank"], part["clock_free_wait_ns"]) for part in collective["ranks"])
            by_func.setdefault(collective["func"], []).append(waits)
        return by_func

    def order(self):
        return [(c["func"], c["ranks"][0]["duration_ns"]) for c in self.report["collectives"]]

    def last_beyond_bound(self):
        return [c["last_rank"] if c["last_is_distinguishable"] else None for c in self.report["collectives"]]


def check_offsets(job, shift_us):
    base = None
    for rank, state, offset_ns, bound_ns in job.offsets():
        if rank == 0:
            assert state == "reference" and bound_ns == 0, (state, bound_ns)
            base = offset_ns + shift_us[0] * 1000
            continue
        assert state == "from_collectives", (rank, state)
        off_ns = offset_ns + shift_us[rank] * 1000 - base
        assert abs(off_ns) <= bound_ns, f"rank {rank}: {off_ns} ns off, bound {bound_ns}"
        assert 0 < 2 * bound_ns <= WIDTH_MAX_NS, f"rank {rank}: {2 * bound_ns} ns wide"
    for rank in job.report["ranks"]:
        assert rank["align_state"] == ("from collectives" if rank["rank"] else "reference"), rank["align_state"]
        assert (rank["bound_ns"] > 0) == (rank["rank"] > 0), rank["bound_ns"]
    return max(2 * bound_ns for *_, bound_ns in job.offsets())


def check_said(job, shift_us):
    lines = job.said.splitlines()
    assert len(lines) == len(shift_us) and "reference" in lines[0], job.said
    for rank, line in enumerate(lines[1:], 1):
        assert line.startswith(f"rank {rank}: from collectives, guaranteed +- "), line
        assert "8 collectives in less than 1 s: drift not observable" in line, line
        is_off = "its stamps are off by" in line
        assert is_off != ("its stamps agree with that" in line), line
        assert is_off or abs(shift_us[rank] - shift_us[0]) * 1000 <= WIDTH_MAX_NS, line


def check_shifted(build, folder, docs, plain, seed):
    made_up = random.Random(seed)
    shift_us = [made_up.randrange(-50_000, 50_001) for _ in docs]
    files = [folder / f"worker{rank}.json.gz" for rank in range(len(docs))]
    for path, doc, shift in zip(files, docs, shift_us):
        write_shifted(path, doc, shift)
    job = Job(build, folder, files)
    width_ns = check_offsets(job, shift_us)
    check_said(job, shift_us)
    assert f"clocks: {len(docs)} of {len(docs)} ranks aligned by collectives, guaranteed +- " in job.merged_said
    far = max(range(len(docs)), key=lambda rank: abs(shift_us[rank] - shift_us[0]))
    assert len(claims_noted(job.notes_before)) == 1, job.notes_before
    assert f"are off, most those of rank {far}, by " in claims_noted(job.notes_before)[0], (far, job.notes_before)
    assert not claims_noted(note["text"] for note in job.report["notes"]), job.report["notes"]
    assert job.waits() == plain.waits(), "clock-free waits differ"
    assert job.order() == plain.order(), "another order of collectives"
    assert job.last_beyond_bound() == plain.last_beyond_bound(), "other last ranks"
    print(f"seed {seed}: shifts {shift_us} us, intervals up to {width_ns / 1000:.1f} us wide")


def check_few(build, folder, docs):
    """With one collective its durations are the bound; without any, nothing is aligned."""
    for kept in (1, 0):
        files = []
        for rank, doc in enumerate(docs):
            nccl = [e for e in doc["traceEvents"] if e.get("cat") == "kernel" and "nccl" in e["name"]]
            last = max(nccl, key=lambda event: event["ts"])
            gone = {id(e) for e in nccl if not (kept and e is last)}
            events = [e for e in doc["traceEvents"] if id(e) not in gone]
            files.append(folder / f"few{rank}.json.gz")
            write_shifted(files[-1], {**doc, "traceEvents": events}, 0)
        job = Job(build, folder, files)
        states = [rank["align_state"] for rank in job.report["ranks"]]
        bounds = [rank["bound_ns"] for rank in job.report["ranks"]]
        if kept:
            durations = [part["duration_ns"] for part in job.report["collectives"][0]["ranks"]]
            assert states[1:] == ["from collectives"] * (len(docs) - 1), states
            for rank in range(1, len(docs)):
                assert 2 * bounds[rank] >= durations[0] + durations[rank], (rank, bounds[rank])
            assert "; 1 collective in less than 1 s" in job.said, job.said
        else:
            assert set(states) == {"wall clock"} and set(bounds) == {None}, (states, bounds)
            assert "clocks: no collectives tie the ranks: as the files' stamps claim" in job.merged_said, job.merged_said


class Merged:
    """What merge makes of a set of files by itself, with a report and a Chrome trace of it."""

    def __init__(self, build, folder, docs):
        files = [folder / f"bad{rank}.json.gz" for rank in range(len(docs))]
        for path, doc in zip(files, docs):
            write_shifted(path, doc, 0)
        store, out = folder / "bad.rkt", folder / "bad.json"
        done = subprocess.run([build / "bin" / "ranktrace-merge", "--force", "-o", store, *files], capture_output=True,
                              text=True, timeout=120, check=False)
        self.code, self.said, self.errors = done.returncode, done.stdout, done.stderr
        run(build / "bin" / "ranktrace-report", "--format", "json", "-o", out, store)
        self.report = json.loads(out.read_text())
        run(build / "bin" / "ranktrace-export", "-o", folder / "trace.json", store)
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        self.labels = {e["pid"] - 1: e["args"]["labels"] for e in events if e["name"] == "process_labels"}
        self.waits = [e["args"]["wait_ns"] for e in events if "wait_ns" in e.get("args", {})]
        self.states = [rank["align_state"] for rank in self.report["ranks"]]

    def holds_nothing_for_aligned(self, ranks):
        for rank in ranks:
            assert self.states[rank] == "wall clock", self.states
            assert self.report["ranks"][rank]["bound_ns"] is None, rank
            assert self.labels[rank] == "clock: wall clock, +- unknown", self.labels
        for collective in self.report["collectives"]:
            if {part["rank"] for part in collective["ranks"]} & set(ranks):
                assert collective["clock_gap_ns"] is None and not collective["is_clocked"], collective
                assert not collective["start_spread_is_distinguishable"], collective


def with_nccl(doc, change):
    """A copy with the kernels of NCCL, in order of time, as change(place, event) gives them."""
    kernels = sorted((e for e in doc["traceEvents"] if e.get("cat") == "kernel" and "nccl" in e["name"]),
                     key=lambda event: event["ts"])
    changed = {id(event): change(place, event) for place, event in enumerate(kernels)}
    return {**doc, "traceEvents": [changed.get(id(event), event) for event in doc["traceEvents"]]}


def check_contradiction(build, folder, docs):
    """Rank 1 gets ahead within some ms, which no clock does: by 3 ms, and by so much that its collectives seem others."""
    for jump_us in (3_000, 20_000):
        bad = with_nccl(docs[1], lambda place, event: {**event, "ts": event["ts"] + (jump_us if place > 3 else 0)})
        merged = Merged(build, folder, [docs[0], bad, *docs[2:]])
        is_matched = merged.report["unmatched_count"] == 0
        assert is_matched == ("the collectives contradict each other" in merged.errors), merged.errors
        assert is_matched == (jump_us == 3_000), merged.report["unmatched_count"]
        assert "aligned by collectives" not in merged.said, merged.said
        merged.holds_nothing_for_aligned(range(len(docs)))
        assert not [wait for wait in merged.waits if wait not in (None, "not distinguishable")], merged.waits


def check_impossible_stamps(build, folder, docs):
    """Those of rank 1's collectives are no time, or end before they begin: it is left out, the others are aligned."""
    for what in ({"ts": 0}, {"dur": -5}):
        merged = Merged(build, folder, [docs[0], with_nccl(docs[1], lambda place, event: {**event, **what}), *docs[2:]])
        assert f"clocks: {len(docs) - 1} of {len(docs)} ranks aligned by collectives" in merged.said, merged.said
        merged.holds_nothing_for_aligned([1])
        assert set(merged.states[2:]) == {"from collectives"}, merged.states
        assert merged.labels[2].startswith("clock: from collectives, +- "), merged.labels


NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def drifting_job(seconds, drift_ppm):
    """Two ranks, 60 AllReduces in so many seconds to which either may be last; rank 1's clock is 5 ms ahead and drifts."""
    made_up, docs = random.Random(5), []
    begins = [[1_700_000_000_000_000 + k * seconds * 1e6 / 60 + made_up.randrange(100) for _ in range(2)]
              for k in range(60)]
    for rank in range(2):
        events = []
        for seq, starts in enumerate(begins):
            args = {"device": rank, "stream": 20, "correlation": seq + 1, "Collective name": "allreduce", "In msg nelems": 1000,
                    "Out msg nelems": 1000, "dtype": "Float", "Group size": 2, "Process Group Name": "0",
                    "Process Group Ranks": "[0, 1]", "Seq": seq}
            end = max(starts) + 20 + made_up.random()
            off = rank * (5_000 + (starts[rank] - begins[0][0]) * drift_ppm / 1e6)
            events.append({"ph": "X", "cat": "kernel", "name": NCCL, "pid": rank, "tid": 20, "args": args,
                           "ts": round(starts[rank] + off, 3), "dur": round(end - starts[rank], 3)})
        docs.append({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events})
    return docs


def check_drift(build, folder):
    """It is told where collectives span a second; in less it is said that it is not observable."""
    for seconds, drift_ppm in ((6, 20), (6, -35), (6, 0), (0.5, 20)):
        merged = Merged(build, folder, drifting_job(seconds, drift_ppm))
        assert "clocks: 2 of 2 ranks aligned by collectives" in merged.said, merged.said + merged.errors
        check = merged.report["ranks"][1]["wait_check"]
        notes = [note["text"] for note in merged.report["notes"] if "its stamps drift against rank 0's by" in note["text"]]
        said = run(build / "bin" / "ranktrace-align", folder / "bad.rkt").splitlines()[1]
        page = run(build / "bin" / "ranktrace-report", folder / "bad.rkt")
        is_observable = seconds > 1
        assert ("drift not observable" in said) == ("drift not observable" in page) == (not is_observable), said + page
        assert len(notes) == (is_observable and drift_ppm != 0), notes
        if is_observable:
            low, high = (float(word) for word in said.split("; drift ")[1].split(" ppm")[0].split(" to "))
            assert low <= drift_ppm <= high, said
            assert abs(check["drift_ppb"] - drift_ppm * 1000) <= 3 * check["drift_noise_ppb"] + 100, check
        else:
            assert check["drift_ppb"] is None, check
        for collective in merged.report["collectives"]:
            assert collective["clock_gap_ns"] < 200_000, collective["clock_gap_ns"]


def check_bound_outside(build, folder):
    """One AllReduce, then 10 s of kernels: the bound grows meanwhile, and all that print it say how wide it gets."""
    docs = drifting_job(6, 0)
    for rank, doc in enumerate(docs):
        first = doc["traceEvents"][0]
        doc["traceEvents"] = [first] + [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": rank, "tid": 7, "ts": first["ts"] + place * 100_000, "dur": 50.0,
             "args": {"device": rank, "stream": 7, "correlation": 1000 + place}} for place in range(1, 101)]
    merged = Merged(build, folder, docs)
    store = folder / "bad.rkt"
    bound_ns = merged.report["ranks"][1]["bound_ns"]
    assert 1_000_000 < bound_ns < 1_100_000, bound_ns
    info = json.loads(run(build / "bin" / "ranktrace-info", "--format", "json", store))
    assert [source["clock_bound_ns"] for source in info["sources"]] == [0, bound_ns], info["sources"]
    said = [merged.said, run(build / "bin" / "ranktrace-align", store), run(build / "bin" / "ranktrace-report", store)]
    bounds = [text.split("guaranteed +- ")[1].replace(";", ",").replace("\n", ",").split(",")[0] for text in said]
    assert bounds == [f"{bound_ns / 1e6:.3f} ms"] * 3, bounds


def main():
    build = pathlib.Path(sys.argv[1])
    if not (build / "bin" / "ranktrace-merge").exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    with tempfile.TemporaryDirectory() as name:
        check_drift(build, pathlib.Path(name))
        check_bound_outside(build, pathlib.Path(name))
    source = SHARED / "data" / "param_dlrm_kineto_8rank"
    if not source.is_dir():
        print(f"skipped: no {source}")
        return 77
    docs = [json.loads(gzip.open(path).read()) for path in sorted(source.glob("*.json.gz"))]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = Job(build, folder, sorted(source.glob("*.json.gz")))
        check_offsets(plain, [0] * len(docs))
        assert not claims_noted(plain.notes_before), plain.notes_before
        for seed in range(3):
            check_shifted(build, folder, docs, plain, seed)
        check_few(build, folder, docs)
        check_contradiction(build, folder, docs)
        check_impossible_stamps(build, folder, docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
