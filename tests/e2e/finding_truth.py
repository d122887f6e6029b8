#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Made-up jobs with known faults: the report finds these causes, no others, and what each costs.

    finding_truth.py BUILD_FOLDER

A cause costs what the steps last longer than in the same job without it; that is simulated, too. Causes
stand alone, in pairs, on all ranks and on one. Clean jobs of many seeds and sizes have no finding above
info.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

FAST = ["bandwidth=100GB"]
SMALL = FAST + ["kernel=20us", "bucket-bytes=1MiB", "input-bytes=64KiB"]
# 40 us of Python between launches, which kernels of 60 us hide unless the host has to wait
PYTHON = FAST + ["kernel=60us", "launch-latency=5us", "bucket-bytes=1MiB", "input-bytes=64KiB",
                 "fault = launch-gaps amount=1600us"]
TIGHT = FAST + ["kernel=30us", "launch=20us", "launch-latency=25us", "bucket-bytes=1MiB", "input-bytes=64KiB"]
SLOW_LINK = ["bandwidth=10GB"]

COPY = ("exposed_copies", "pageable-copy amount=64MiB")
INPUT = ("input", "slow-input amount=40ms")
HOST = ("launch_gaps", "slow-host amount=40ms")
GAPS = ("launch_gaps", "launch-gaps amount=8ms")
SYNC = ("hidden_sync", "hidden-sync amount=20")

NO_COST = "each is cheaper without the other"
# name, settings, (finding, fault) of each cause; a fault "" is of the settings and has no known cost
SCENARIOS = [
    ("pageable copies", FAST, [COPY]),
    ("pageable copies, 32 ranks", FAST + ["ranks=32", "steps=8"], [COPY]),
    ("pageable copies, one rank", FAST + ["ranks=1"], [COPY]),
    ("slow input", FAST, [INPUT]),
    ("slow host", FAST, [HOST]),
    ("launch gaps", TIGHT, [GAPS]),
    ("launch gaps, 2 ranks", TIGHT + ["ranks=2"], [GAPS]),
    ("hidden synchronisation", PYTHON, [SYNC]),
    ("hidden synchronisation, 16 ranks", PYTHON + ["ranks=16"], [SYNC]),
    ("transfers", SLOW_LINK, [("communication", "")]),
    ("transfers, no overlap", SLOW_LINK + ["overlap=0"], [("communication", "")]),
    ("copies in the kernels' stream", FAST + ["input-bytes=64MiB"], [("one_stream", "")]),
    ("pageable copies and slow input", FAST, [COPY, INPUT]),
    # the copy makes the host wait, and with the lead that it had then it would have hidden some Python
    ("pageable copies and slow host", FAST, [COPY + (NO_COST,), HOST + (NO_COST,), ("hidden_sync", "")]),
    ("pageable copies and synchronisation", PYTHON, [COPY, SYNC]),
    ("pageable copies and launch gaps", TIGHT, [COPY, GAPS]),
    ("pageable copies and transfers", SLOW_LINK, [COPY, ("communication", "")]),
    ("slow input and transfers", SLOW_LINK, [INPUT, ("communication", "")]),
    ("slow input and synchronisation", PYTHON, [("input", "slow-input amount=8ms", NO_COST), SYNC + (NO_COST,)]),
    ("slow host and transfers", SLOW_LINK, [HOST, ("communication", "")]),
    ("synchronisation and transfers", PYTHON + ["bandwidth=1GB"], [SYNC, ("communication", "")]),
]

# Only one rank has the fault: that rank is the finding, not the cause for all.
STRAGGLERS = [
    ("slow-compute rank=1 amount=5ms", "compute"),
    ("slow-input rank=2 amount=40ms", "input"),
    ("slow-host rank=0 amount=40ms", "host"),
    ("pageable-copy rank=3 amount=64MiB", "copy"),
]

# The same at four speeds; a seed each.
CLEAN = [FAST, FAST + ["ranks=1"], FAST + ["ranks=8", "jitter-ppm=50000"], FAST + ["ranks=2", "steps=6"],
         FAST + ["ranks=16", "steps=6"], SMALL, SMALL + ["ranks=8", "jitter-ppm=50000"], TIGHT, PYTHON,
         FAST + ["ranks=8", "nodes=4", "clock-offset=5ms", "clock-drift-ppb=20000"], FAST + ["steps=1"]]
SEEDS = 6

failures = []


def simulate(ranktrace, folder, settings, faults):
    lines = settings + [f"fault = {fault}" for fault in faults if fault]
    options = [word for line in lines for word in ("--set", line)]
    subprocess.run([ranktrace, "simulate", "-f", "-o", folder / "run.rkt", "--truth", folder / "truth.json", *options],
                   check=True, stdout=subprocess.DEVNULL)
    return json.loads((folder / "truth.json").read_text(encoding="utf-8"))


def report_of(ranktrace, folder):
    done = subprocess.run([ranktrace, "report", "--format", "json", folder / "run.rkt"], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def steady(report):
    return [i for i, step in enumerate(report["ranks"][0]["steps"]) if not step["is_warmup"]]


def step_ns(truth, steps):
    """Mean over these steps of the longest rank's."""
    return statistics.mean(max(rank["window_ns"] for rank in truth["steps"][i]["ranks"]) for i in steps)


def above_info(report):
    return {finding["id"]: finding for finding in report["findings"] if finding["severity"] != "info"}


def check_cost(name, finding, cost_ns, length_ns):
    """To within two hundredths of the step: what a launch is on its way is in no finding."""
    if abs(finding["save_ns"] - cost_ns) > 0.02 * length_ns:
        failures.append(f"{name}: {finding['id']} saves at most {finding['save_ns']}, the truth is {cost_ns:.0f}")


def check_causes(ranktrace, folder, name, settings, causes):
    faults = [cause[1] for cause in causes]
    without = {fault: simulate(ranktrace, folder, settings, [other for other in faults if other != fault])
               for fault in faults if fault}
    truth = simulate(ranktrace, folder, settings, faults)
    report = report_of(ranktrace, folder)
    found = above_info(report)
    if set(found) != {cause[0] for cause in causes}:
        failures.append(f"{name}: found {sorted(found)}")
        return
    steps = steady(report)
    for finding, fault, *no_cost in causes:
        if fault and not no_cost:
            check_cost(name, found[finding], step_ns(truth, steps) - step_ns(without[fault], steps),
                       step_ns(truth, steps))
        if not found[finding]["places"]:
            failures.append(f"{name}: {finding} has no place")
    counts = report["finding_counts"]
    if sum(counts.values()) != len(report["findings"]) or counts["info"] != len(report["findings"]) - len(found):
        failures.append(f"{name}: counts {counts}")


def check_straggler(ranktrace, folder, fault, cause):
    without = simulate(ranktrace, folder, FAST, [])
    truth = simulate(ranktrace, folder, FAST, [fault])
    report = report_of(ranktrace, folder)
    found = above_info(report)
    if set(found) != {"straggler"} or f"the cause is {cause}" not in found["straggler"]["what"]:
        failures.append(f"{fault}: found {[finding['what'] for finding in found.values()]}")
        return
    steps = steady(report)
    check_cost(fault, found["straggler"], step_ns(truth, steps) - step_ns(without, steps), step_ns(truth, steps))


def check_tracer(ranktrace, folder):
    """A sidecar that takes 5 % of a core beside a rank whose host is late may be why, and saves 5 % at most."""
    for fault, ppm, is_found in (("slow-host rank=0 amount=40ms", 50000, True), ("slow-host rank=0 amount=40ms", 10000, False),
                                 ("slow-compute rank=0 amount=5ms", 50000, False), ("", 50000, False)):
        simulate(ranktrace, folder, FAST + [f"tracer-ppm={ppm}"], [fault])
        report = report_of(ranktrace, folder)
        found = [finding for finding in report["findings"] if finding["id"] == "tracer_load"]
        loads = [rank["sidecar_cpu"] for rank in report["ranks"]]
        if any(abs(load - ppm / 1e6) > 1e-4 for load in loads):
            failures.append(f"tracer of {ppm} ppm: {loads}")
        if len(found) != is_found:
            failures.append(f"tracer of {ppm} ppm, {fault}: {found}")
        for finding in found:
            want_ns = 0.05 * report["summary"]["step_ns"]
            if finding["severity"] != "warning" or abs(finding["save_ns"] - want_ns) > 0.01 * want_ns:
                failures.append(f"tracer of {ppm} ppm saves {finding['save_ns']}, not {want_ns}: {finding}")


def check_limits(ranktrace, folder):
    """Exit codes: 3 where a limit is passed, and the report is there all the same."""
    for faults, condition, code in (([COPY[1]], "finding_counts.serious > 0", 3), ([], "finding_counts.serious > 0", 0),
                                    ([], "causes.copies.share > 0.1%", 3), ([], "causes.copy.share > 0", 2)):
        simulate(ranktrace, folder, FAST, faults)
        done = subprocess.run([ranktrace, "report", "--fail-if", condition, folder / "run.rkt"], check=False,
                              capture_output=True, text=True)
        if done.returncode != code or "ANSWER" not in done.stdout or bool(done.stderr) != (code > 0):
            failures.append(f"--fail-if {condition}: exit code {done.returncode}: {done.stderr}")


def main():
    ranktrace = pathlib.Path(sys.argv[1]).resolve() / "bin" / "ranktrace"
    clean = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, settings, causes in SCENARIOS:
            check_causes(ranktrace, folder, title, settings, causes)
        for fault, cause in STRAGGLERS:
            check_straggler(ranktrace, folder, fault, cause)
        check_tracer(ranktrace, folder)
        check_limits(ranktrace, folder)
        for settings in CLEAN:
            for seed in range(1, SEEDS + 1):
                simulate(ranktrace, folder, settings + [f"seed={seed}"], [])
                found = above_info(report_of(ranktrace, folder))
                clean += not found
                if found:
                    failures.append(f"clean {settings} seed {seed}: {[finding['what'] for finding in found.values()]}")
    for failure in failures[:20]:
        print(failure)
    print(f"{len(SCENARIOS) + len(STRAGGLERS)} jobs with faults, {clean} clean ones without a finding, "
          f"{len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
