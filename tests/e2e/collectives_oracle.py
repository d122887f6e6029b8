#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives of public traces: what the oracle says to the nanosecond, and ends that agree; every
report is one page, and its sums are exact."""

import json
import pathlib
import statistics
import sys
import tempfile

from public_traces import load_oracle, reason_to_skip, run, runs


def report_of(build, files, store):
    # as the stamps claim, which is what the oracle takes
    run(build / "bin" / "ranktrace-merge", "--quiet", "--force", "--no-align", "-o", store, *files)
    page = run(build / "bin" / "ranktrace-report", store)
    assert len(page.splitlines()) <= 72, f"{len(page.splitlines())} lines are more than one page"
    assert max(map(len, page.splitlines())) <= 100, "a line is longer than 100 columns"
    assert page.isascii() and "nan" not in page.lower().split(), "not plain text"
    return json.loads(run(build / "bin" / "ranktrace-report", "--format", "json", store))


def check_sums(report, name):
    """Every step's parts add up to its window; wait and active add up to the duration."""
    wrong = 0
    for rank in report["ranks"]:
        for step in rank["steps"]:
            parts = step["window"].get("parts_ns") or step["window"]["host_parts_ns"]
            total = sum(sum(v.values()) if isinstance(v, dict) else v for v in parts.values())
            if total != step["window"]["window_ns"]:
                print(f"{name}: rank {rank['rank']} step {step['number']}: {total} is not the window")
                wrong += 1
    for collective in report["collectives"]:
        for rank in collective["ranks"]:
            if rank["wait_ns"] is not None and rank["wait_ns"] + rank["active_ns"] != rank["duration_ns"]:
                print(f"{name}: {collective['func']} {collective['seq']}: wait and active do not add up")
                wrong += 1
    return wrong


def check_collectives(report, oracle, files):
    """The reference set: eight collectives on eight ranks, matched by order from the front."""
    docs = [oracle.load(str(path)) for path in files]
    work = {int(doc["distributedInfo"]["rank"]): oracle.work_of(doc) for doc in docs}
    want, got, wrong = oracle.collectives(work), report["collectives"], 0
    assert len(want) == len(got) == 8, (len(want), len(got))
    for a, b in zip(want, got):
        have = {key: b[key] for key in ("first_start_ns", "last_rank", "start_spread_ns", "end_spread_ns",
                                        "clocked_transfer_ns", "transfer_ns")}
        have["wait_ns"] = {rank["rank"]: rank["wait_ns"] for rank in b["ranks"]}
        have["clock_free_wait_ns"] = {rank["rank"]: rank["clock_free_wait_ns"] for rank in b["ranks"]}
        for key, value in have.items():
            if value != a[key]:
                print(f"dlrm: {a['key']}: {key} is {value}, not {a[key]}")
                wrong += 1
    return wrong


def check_shift(report):
    """Captures that begin at different collectives: rightly matched, ends agree."""
    spreads = [c["end_spread_ns"] for c in report["collectives"]]
    members = [len(c["ranks"]) for c in report["collectives"]]
    print(f"nanogpt: {len(spreads)} collectives, ends agree to {statistics.median(spreads) / 1e3:.1f} us in the "
          f"median and {max(spreads) / 1e3:.1f} us at most")
    assert len(spreads) == 84 and report["unmatched_count"] == 0, (len(spreads), report["unmatched_count"])
    assert members == [3] * 3 + [4] * 5 + [8] * 76, members
    assert statistics.median(spreads) <= 21_000 and max(spreads) <= 200_000, "ends do not agree"
    return 0


def check_weak(report):
    """Two sampled ranks of 128, collectives missing: whatever was matched must say weak, and nobody is named."""
    found = {c["confidence"] for c in report["collectives"]}
    assert found == {"weak"}, found
    assert report["unmatched_count"] > 0
    assert not report["straggler"]["is_found"], report["straggler"]
    assert report["last_arriver"] is None or report["last_arriver"]["last_count"] == 0, report["last_arriver"]
    assert "straggler" not in {f["id"] for f in report["findings"]}, report["findings"]
    return 0


def main():
    build = pathlib.Path(sys.argv[1])
    reason = reason_to_skip(build)
    if reason:
        print(f"skipped: {reason}")
        return 77
    oracle, wrong = load_oracle(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, files in runs():
            report = report_of(build, files, pathlib.Path(folder) / "timeline.rkt")
            wrong += check_sums(report, files[0].name)
            if name == "param_dlrm_kineto_8rank":
                wrong += check_collectives(report, oracle, files)
            elif name == "nanogpt_h100_8rank":
                wrong += check_shift(report)
            elif name == "trace_filter":
                wrong += check_weak(report)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
