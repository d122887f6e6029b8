#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Made-up jobs whose every number is known: the report must say those numbers.

    simulate_truth.py BUILD_FOLDER

Exact where metrics.md is exact (windows, unions, waits, transfers), on one clock. With clocks that
differ, waits and ends are within the bound that the report states.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

CAUSES = {
    "slow-compute": "compute",
    "extra-work": "compute",
    "slow-input": "input",
    "slow-host": "host",
    "launch-gaps": "host",
    "pageable-copy": "copy",
}

# name, settings, fault ("" none); the straggler is the fault's rank
SCENARIOS = [
    ("clean", [], ""),
    ("clean, one rank", ["ranks=1"], ""),
    ("clean, two ranks", ["ranks=2"], ""),
    ("clean, 32 ranks", ["ranks=32", "steps=8"], ""),
    ("clean, no overlap", ["overlap=0"], ""),
    ("clean, launch-bound", ["kernel=4us", "launch=6us", "launch-latency=8us"], ""),
    ("clean, full queue", ["queue=16"], ""),
    ("slow compute", [], "slow-compute rank=2 amount=8ms"),
    ("slow compute of rank 0", ["ranks=8"], "slow-compute rank=0 amount=5ms"),
    ("slow compute, no overlap", ["overlap=0"], "slow-compute rank=1 amount=8ms"),
    ("extra work", [], "extra-work rank=3 amount=4ms"),
    ("slow input", [], "slow-input rank=1 amount=40ms"),
    ("slow host", [], "slow-host rank=1 amount=40ms"),
    ("launch gaps", ["launch=20us", "kernel=30us", "launch-latency=25us"],
     "launch-gaps rank=2 amount=8ms"),
    ("pageable copy", [], "pageable-copy rank=1 amount=64MiB"),
    ("a slow node", ["ranks=8", "nodes=4", "clock-offset=0ns"], "slow-compute rank=2:4 amount=8ms"),
]
CLOCKS = ["ranks=8", "nodes=4", "clock-offset=5ms", "clock-drift-ppb=20000", "steps=40"]

failures = []


def check(what, got, want):
    if got != want:
        failures.append(f"{what}: {got}, not {want}")


def run(ranktrace, folder, settings, fault):
    timeline, truth = folder / "run.rkt", folder / "truth.json"
    lines = settings + ([f"fault = {fault}"] if fault else [])
    options = [word for line in lines for word in ("--set", line)]
    subprocess.run([ranktrace, "simulate", "-f", "-o", timeline, "--truth", truth, *options],
                   check=True, stdout=subprocess.DEVNULL)
    report = subprocess.run([ranktrace, "report", "--format", "json", timeline],
                            check=True, stdout=subprocess.PIPE).stdout
    return json.loads(report), json.loads(truth.read_text(encoding="utf-8"))


def check_steps(name, report, truth):
    """From the second on: the first has no end before it."""
    for rank in report["ranks"]:
        check(f"{name}: steps of rank {rank['rank']}", len(rank["steps"]), truth["step_count"])
        for step, known in list(zip(rank["steps"], truth["steps"]))[1:]:
            known = known["ranks"][rank["rank"]]
            window = step["window"]
            what = f"{name}: rank {rank['rank']} step {step['number']}"
            check(f"{what} window", window["window_ns"], known["window_ns"])
            check(f"{what} compute", window["compute_ns"], known["compute_ns"])
            check(f"{what} comm", window["comm_ns"], known["comm_ns"])
            check(f"{what} copies", window["copy_ns"], known["copy_ns"])
            check(f"{what} overlap", window["parts_ns"]["overlapped"], known["overlap_ns"])


def check_collectives(name, report, truth):
    if truth["rank_count"] == 1:
        return
    check(f"{name}: collectives", len(report["collectives"]), len(truth["collectives"]))
    for got, known in zip(report["collectives"], truth["collectives"]):
        what = f"{name}: collective {known['index']} of step {known['step']}"
        if report["ranks"][-1]["node"] > 0:
            check_near(what, got, known, report)
            continue
        check(f"{what} transfer", got["transfer_ns"], known["transfer_ns"])
        check(f"{what} waits", [part["wait_ns"] for part in got["ranks"]], known["wait_ns"])
        if known["wait_ns"].count(0) == 1:
            check(f"{what} last rank", got["last_rank"], known["last_rank"])


def check_near(what, got, known, report):
    """Between two ranks: their bounds, and the rounding of two clocks."""
    bounds = [rank["bound_ns"] for rank in report["ranks"]]
    for part, wait_ns in zip(got["ranks"], known["wait_ns"]):
        limit_ns = bounds[part["rank"]] + max(bounds) + 4
        if abs(part["wait_ns"] - wait_ns) > limit_ns:
            failures.append(f"{what}: rank {part['rank']} waits {part['wait_ns']}, not {wait_ns} "
                            f"to within {limit_ns}")


def check_straggler(name, report, truth, fault):
    straggler = report["straggler"]
    check(f"{name}: straggler found", straggler["is_found"], bool(fault))
    if not fault or not straggler["is_found"]:
        return
    known = truth["faults"][0]
    if not known["first_rank"] <= straggler["rank"] < known["end_rank"]:
        failures.append(f"{name}: straggler {straggler['rank']}")
    check(f"{name}: cause", straggler["cause"], CAUSES[known["kind"]])


def check_clocks(report, truth):
    """The collectives end together: what the report's clocks make of it is within their bounds."""
    name = "four clocks"
    bounds = [rank["bound_ns"] for rank in report["ranks"]]
    check(f"{name}: states", sorted({rank["align_state"] for rank in report["ranks"]}),
          ["measured", "reference"])
    check(f"{name}: bounds of node 0", bounds[:2], [0, 0])
    if not all(0 < bound < 50_000 for bound in bounds[2:]):
        failures.append(f"{name}: bounds {bounds}")
    for got, known in zip(report["collectives"], truth["collectives"]):
        for part in got["ranks"]:
            end_ns = part["job_start_ns"] + part["duration_ns"]
            if abs(end_ns - known["end_ns"]) > bounds[part["rank"]] + 2:
                failures.append(f"{name}: rank {part['rank']} ends {end_ns - known['end_ns']} ns "
                                f"off, bound {bounds[part['rank']]}")


def check_refusals(ranktrace, folder):
    scenario = folder / "bad.scenario"
    scenario.write_text("ranks = 2\nrank = 3\n", encoding="utf-8")
    before = (folder / "run.rkt").read_bytes()
    for words, said in ((["-o", folder / "run.rkt"], "run.rkt exists: --force overwrites it"),
                        (["-o", folder / "new.rkt", "--truth", folder / "truth.json"],
                         "truth.json exists: --force overwrites it"),
                        (["-f", "-o", "run.rkt", "--truth", folder / "run.rkt"], "are the same file"),
                        (["-o", "new.rkt", "--truth", "./new.rkt"], "are the same file"),
                        (["-s", "overlap=7"], "overlap is 0 or 1, not 7"),
                        ([scenario], "bad.scenario: line 2: unknown key 'rank': did you mean 'ranks'?"),
                        (["-s", "rank = 3"], "--set 'rank = 3': unknown key 'rank'")):
        done = subprocess.run([ranktrace, "simulate", *words], check=False, cwd=folder, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        check(said, (done.returncode, said in done.stderr, done.stderr.count("\n")), (2, True, 1))
    check("nothing is overwritten", (folder / "run.rkt").read_bytes() == before, True)
    done = subprocess.run([ranktrace, "simulate", "-o", folder / "new.rkt", "--truth", folder / "none" / "truth.json"],
                          check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    check("a truth without a folder, found before the work",
          (done.returncode, done.stderr.count(b"\n"), (folder / "new.rkt").exists()), (1, 1, False))


def main():
    ranktrace = pathlib.Path(sys.argv[1]).resolve() / "bin" / "ranktrace"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, settings, fault in SCENARIOS:
            report, truth = run(ranktrace, folder, settings, fault)
            check_steps(title, report, truth)
            check_collectives(title, report, truth)
            check_straggler(title, report, truth, fault)
        first = (folder / "run.rkt").read_bytes()
        run(ranktrace, folder, SCENARIOS[-1][1], SCENARIOS[-1][2])
        check("the same scenario gives the same bytes", (folder / "run.rkt").read_bytes() == first,
              True)
        check_clocks(*run(ranktrace, folder, CLOCKS, ""))
        check_refusals(ranktrace, folder)
    for failure in failures[:20]:
        print(failure)
    print(f"{len(SCENARIOS) + 1} scenarios, {len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
