#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the reports of simulated runs against what each scenario injected.

  check_simgpu.py FOLDER     with SCENARIO.json (report) and SCENARIO.facts (a line per rank)

The GPUs are simulated, hosts are real. Where the machine holds them up, that is what a report has to find,
and who is named there and how work overlaps is no matter of the scenario: see is_steady. What the GPUs did
is the same on any machine.
"""
import json
import pathlib
import sys

# scenario -> (straggler's rank, its cause); None: nobody may be named
STRAGGLERS = {
    "clean": None,
    "slow-compute": (2, "compute"),
    "slow-input": (2, "input"),
}

SLOWED_MOST = 1.15  # of the time that a scenario takes by itself

FETCH = ("cuMemcpyDtoHAsync", "cuStreamSynchronize")  # of a number, as `.item()` does


def parts_of(window):
    parts = window["parts_ns"]
    flat = [v for v in parts.values() if not isinstance(v, dict)]
    return flat + list(parts["copy"].values()) + list(parts["idle"].values())


def is_steady(name, facts):
    """Whether the job took about as long as its kernels and the waits that are planted in it."""
    own_ns = max(max(fact["kernel_ns"], fact["input_wait_ns"], fact["launch_wait_ns"]) for fact in facts)
    ratio = max(fact["wall_ns"] for fact in facts) / own_ns
    if ratio > SLOWED_MOST:
        print(f"{name}: this machine made it take {ratio:.2f} times its own time: hosts may be named in it")
    return ratio <= SLOWED_MOST


def check_common(name, report, facts):
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1, 2, 3], name
    by_rank = {fact["rank"]: fact for fact in facts}
    for rank in report["ranks"]:
        fact = by_rank[rank["rank"]]
        windows = [rank["run"], rank["outside"]] + [step["window"] for step in rank["steps"]]
        for window in filter(None, windows):
            assert sum(parts_of(window)) == window["window_ns"], (name, rank["rank"], window)
        assert rank["losses"] == {}, (name, rank["losses"])
        assert not rank["is_cut_short"], (name, rank["rank"])
        assert len(rank["steps"]) == fact["steps"], (name, len(rank["steps"]))
        assert rank["run"]["kernels"]["compute"] == fact["kernels"], (name, rank["run"]["kernels"])
        parts = rank["run"]["parts_ns"]
        compute_ns = parts["compute"] + parts["overlapped"]  # but for what clocks are steered
        assert abs(compute_ns - fact["kernel_ns"]) <= fact["kernel_ns"] / 1000, (name, rank["rank"], parts, fact)
        assert rank["run"]["kernels"]["comm"] == fact["collectives"], (name, rank["run"]["kernels"])
    collectives = report["collectives"]
    assert len(collectives) == facts[0]["collectives"], (name, len(collectives))
    assert all(c["confidence"] == "exact" and len(c["ranks"]) == 4 for c in collectives), name
    assert sum(c["bytes"] for c in collectives) == facts[0]["collective_bytes"], name


def calls(report, name):
    """The row of a call; None: it was not made."""
    return next((row for row in report["tables"]["calls"] if row["name"] == name), None)


def idle(report, cause):
    return report["summary"]["parts_ns"]["idle"][cause]


def main():
    folder = pathlib.Path(sys.argv[1])
    reports, steady = {}, {}  # the latter of those where it matters
    for path in sorted(folder.glob("*.json")):
        name = path.stem
        lines = (folder / f"{name}.facts").read_text().splitlines()
        facts = [json.loads(line) for line in lines if line.startswith("{")]
        reports[name] = json.loads(path.read_text())
        check_common(name, reports[name], facts)
        if name in STRAGGLERS:
            steady[name] = is_steady(name, facts)
    assert len(reports) == 6, sorted(reports)

    for name, wanted in STRAGGLERS.items():
        found = reports[name]["straggler"]
        named = (found["rank"], found["cause"]) if found["is_found"] else None
        # kernels are slow nowhere else, however busy the machine is
        may_differ = not steady[name] and (named is None or named[1] != "compute")
        assert named == wanted or may_differ, (name, found)

    # how long hosts are late depends on the machine; what they waited for does not
    clean = reports["clean"]
    sync, gaps = reports["hidden-sync"], reports["launch-gaps"]
    fetches = [calls(sync, name) for name in FETCH]
    assert all(row and row["count"] > 0 and row["kind"] == "blocking" for row in fetches), fetches
    assert sum(row["idle_ns"] + row["tail_ns"] for row in fetches) > 0, fetches
    assert not any(calls(clean, name) or calls(gaps, name) for name in FETCH), "a fetch without hidden-sync"
    for name, report in reports.items():
        explained = sum(row["idle_ns"] + row["tail_ns"] for row in report["tables"]["calls"])
        assert explained == idle(report, "sync"), (name, explained, idle(report, "sync"))
    assert idle(gaps, "host") > idle(gaps, "sync"), "launch-gaps"
    assert clean["summary"]["backward_overlap"] > 0.5 or not steady["clean"], clean["summary"]
    assert reports["no-overlap"]["summary"]["backward_overlap"] < 0.05, "no-overlap"
    for name, report in reports.items():
        print(f"{name}: {report['straggler']} {report['summary']['parts_ns']}")


if __name__ == "__main__":
    main()
