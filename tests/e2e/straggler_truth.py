#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stragglers of made-up jobs: found, with cause and gain, and none where there is none.

    straggler_truth.py BUILD_FOLDER [COUNT [FIRST_SEED]]

COUNT random jobs with one fault that costs 5 % of a step or more, and as many without. The truth of a
gain is what the same steps of the same job take without the fault; it has to be known to a tenth. Prints
a table.
"""
import pathlib
import random
import sys
import tempfile

from simulated_job import SimulatedJob

RIGHT_MIN = 0.95
GAIN_OFF_MAX = 0.10
EFFECT_MIN = 0.05
STEPS_MIN = 5

CAUSES = {
    "slow-compute": "compute",
    "extra-work": "compute",
    "slow-input": "input",
    "slow-host": "host",
    "launch-gaps": "host",
    "pageable-copy": "copy",
    "device-alloc": "alloc",
    "hidden-sync": "sync",
    "throttled": "compute",
}
GROUPS = ("data", "data", "stages", "1F1B", "1F1B", "experts", "experts", "all")
KINDS = {"slow-compute": "slower", "throttled": "slower", "extra-work": "more kernels"}  # of compute
HOST_FAULTS = ("slow-input", "slow-host", "launch-gaps", "device-alloc")


def later_steps(truth):
    """What the host runs ahead is filled up by then."""
    return range(2, truth["step_count"])


def draw_groups(chance, ranks):
    """Who shares what: copies alone, slices and stages (all forwards first), stages in 1F1B, experts, or all."""
    wanted = chance.choice(GROUPS)
    grids = [(tp, pp, ep) for tp in (1, 2, 4) for pp in (1, 2, 4) for ep in (1, 2, 4, 8)
             if ranks % (tp * pp * ep) == 0 and ranks // pp >= 2]
    shapes = {"data": lambda tp, pp, ep: tp == pp == ep == 1, "stages": lambda tp, pp, ep: ep == 1,
              "1F1B": lambda tp, pp, ep: pp > 1 and ep == 1, "experts": lambda tp, pp, ep: pp == 1 and ep > 1,
              "all": lambda tp, pp, ep: pp > 1 and ep > 1}
    fit = [grid for grid in grids if shapes[wanted](*grid)]
    name, (tp, pp, ep) = (wanted, chance.choice(fit)) if fit else ("data", (1, 1, 1))
    has_pairs = name in ("1F1B", "all")
    micro_batches = chance.choice([2, 4, 6] if has_pairs else [1, 2]) if pp > 1 else 1
    return name, [
        f"tp = {tp}", f"pp = {pp}", f"ep = {ep}", f"micro-batches = {micro_batches}", f"1f1b = {int(has_pairs)}",
        f"ep-bytes = {chance.choice([1, 4, 16])}MiB", f"ep-spread-ppm = {chance.choice([0, 100000, 300000])}",
    ]


def draw_settings(chance, has_python=False):
    """(name of the groups, settings). has_python: between launches of forward, which kernels hide unless the host has
    to wait."""
    ranks = chance.choice([2, 3, 4, 4, 6, 8, 8, 16, 32])
    nodes = chance.choice([n for n in (1, 2, 4) if ranks % n == 0 and n < ranks])
    kernel_us = chance.choice([40, 80, 150, 300, 600])
    backward = chance.choice([30, 60, 120])
    name, groups = draw_groups(chance, ranks)
    buckets = chance.choice([1, 2, 4] if name in ("1F1B", "all") else [1, 2, 4, 8])
    compute_us = 2 * backward * kernel_us  # at most
    # transfers of a tenth to all of backward
    bucket_mib = max(1, round(compute_us * chance.uniform(0.05, 0.5) / buckets * 20e9 / 1e6 / 2**20))
    python = [f"fault = launch-gaps amount={backward // 2 * kernel_us * 6 // 10}us"] if has_python else []
    return name, python + groups + [
        f"seed = {chance.randrange(1, 2**31)}", f"ranks = {ranks}", f"nodes = {nodes}", f"steps = {chance.choice([20, 30, 40])}",
        f"forward-kernels = {backward // 2}", f"backward-kernels = {backward}",
        f"optimizer-kernels = {chance.choice([2, 8, 16])}", f"kernel = {kernel_us}us",
        f"jitter-ppm = {chance.choice([5000, 20000, 50000, 100000])}", f"launch = {chance.choice([3, 5, 8])}us",
        f"step-jitter-ppm = {chance.choice([0, 10000, 30000])}", f"stall = {chance.choice([0, 0, 1, 5])}ms",
        f"buckets = {buckets}", f"bucket-bytes = {bucket_mib}MiB", f"overlap = {chance.choice([0, 1, 1])}",
        f"input = {chance.choice([100, 500, 2000])}us", f"queue = {chance.choice([64, 1024])}",
        f"cut = {chance.choice([0, 0, 0, 2]) * compute_us}us", "gpu-samples = 20ms",
        f"clock-offset = {chance.choice([0, 0, 3])}ms", f"clock-drift-ppb = {chance.choice([0, 5000])}",
    ]


def draw_fault(chance, clean, kind):
    rank = chance.randrange(clean["rank_count"])
    length_ns = step_ns(clean, later_steps(clean))
    cost_ns = length_ns * chance.uniform(0.06, 0.5)
    if kind in HOST_FAULTS:
        cost_ns += length_ns  # what the host runs ahead of the device comes first
    amount = f"{int(cost_ns)}ns"
    if kind == "pageable-copy":
        amount = f"{int(cost_ns * 25e9 / 4 / 1e9)}B"
    elif kind == "throttled":
        amount = int(cost_ns / clean["steps"][-1]["ranks"][rank]["compute_ns"] * 1e6)
    elif kind == "hidden-sync":
        amount = chance.randrange(4, 40)
    return f"fault = {kind} rank={rank} amount={amount}"


def step_ns(truth, numbers):
    """Mean over these steps of the longest window."""
    longest = [max(rank["window_ns"] for rank in truth["steps"][n]["ranks"]) for n in numbers]
    return sum(longest) / len(longest)


def judge(report, clean, truth):
    """(named right, cause right, how far off the gain is as a share of the true one)"""
    fault, straggler = truth["faults"][-1], report["straggler"]
    numbers = [step["number"] for step in report["replay"]["steps"]]
    if not straggler["is_found"]:
        return False, False, None
    true_ns = step_ns(truth, numbers) - step_ns(clean, numbers)
    gain_ns = straggler["gain_ns"]
    kind = straggler["compute"] and straggler["compute"]["kind"]
    return (straggler["rank"] == fault["first_rank"],
            straggler["cause"] == CAUSES[fault["kind"]] and kind == KINDS.get(fault["kind"]),
            None if gain_ns is None else gain_ns / true_ns - 1)


def check_known(job):
    """Two that people have asked about; what is wrong with the answers."""
    failures = []
    # traceml#252: 200 ms more in backward of rank 1 of 8; all ranks' steps last alike
    settings = ["ranks = 8", "steps = 20"]
    clean = job.simulate(settings)
    truth = job.simulate(settings + ["fault = slow-compute rank=1 amount=200ms"])
    rank, cause, off = judge(job.report(), clean, truth)
    if not rank or not cause or off is None or abs(off) > 0.05:
        failures.append(f"200 ms in backward of rank 1: {rank}, {cause}, {off}")
    # a slow node: two ranks of four, of which one alone is not worth fixing
    settings = ["ranks = 4", "nodes = 2", "steps = 20"]
    clean = job.simulate(settings)
    truth = job.simulate(settings + ["fault = slow-compute rank=2:4 amount=8ms"])
    report = job.report()
    _, cause, off = judge(report, clean, truth)
    group = report["straggler"].get("group")
    if not group or group["ranks"] != [2, 3] or group["name"] != "node1" or not cause or abs(off) > 0.05:
        failures.append(f"a slow node: {report['straggler']}, {off}")
    return failures


def has_common_steps(report):
    """Where records begin at different times, a rank may have none, or all too few in common."""
    return all(len(rank["steps"]) >= STEPS_MIN for rank in report["ranks"]) and \
        len(report["replay"]["steps"]) >= STEPS_MIN


def run_faulty(job, chance):
    """One job whose fault costs enough; how it was judged, of which fault and groups, and its settings."""
    kind = chance.choice(sorted(CAUSES))
    while True:
        groups, settings = draw_settings(chance, kind == "hidden-sync")
        clean = job.simulate(settings)
        fault = draw_fault(chance, clean, kind)
        truth = job.simulate(settings + [fault])
        later = later_steps(clean)
        report = job.report()
        if not has_common_steps(report):
            continue
        if step_ns(truth, later) - step_ns(clean, later) >= EFFECT_MIN * step_ns(truth, later):
            return judge(report, clean, truth), (kind, groups), settings + [fault]


def print_table(rows):
    print(f"{'fault, groups':15} {'jobs':>5} {'rank right':>11} {'cause right':>12} {'gain off: median':>17} {'most':>7}")
    for column in (0, 1):
        for name in sorted({row[1][column] for row in rows}):
            print_row(name, [row[0] for row in rows if row[1][column] == name])
    print_row("all", [row[0] for row in rows])


def print_row(name, judged):
    off = sorted(abs(o) for _, _, o in judged if o is not None) or [float("nan")]
    print(f"{name:15} {len(judged):5} {sum(r for r, _, _ in judged):11} {sum(c for _, c, _ in judged):12} "
          f"{off[len(off) // 2]:16.1%} {off[-1]:7.1%}")


def main():
    ranktrace = pathlib.Path(sys.argv[1]).resolve() / "bin" / "ranktrace"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    rows, named, failures = [], [], []
    with tempfile.TemporaryDirectory() as name:
        job = SimulatedJob(ranktrace, pathlib.Path(name))
        for seed in range(first, first + count):
            row = run_faulty(job, random.Random(seed))
            rows.append(row)
            if not (row[0][0] and row[0][1]) or row[0][2] is None or abs(row[0][2]) > GAIN_OFF_MAX:
                failures.append(f"seed {seed}: {row[0]}: {'; '.join(row[2])}")
        for seed in range(first, first + count):
            _, settings = draw_settings(random.Random(-1 - seed))
            job.simulate(settings)
            if job.report()["straggler"]["is_found"]:
                named.append(f"clean, seed {-1 - seed}: {'; '.join(settings)}")
        known = check_known(job)
    print_table(rows)
    print(f"{'none':15} {count:5}   named in {len(named)}")
    for line in known + failures + named:
        print(line)
    right = sum(r and c for (r, c, _), _, _ in rows)
    off = sum(o is None or abs(o) > GAIN_OFF_MAX for (r, _, o), _, _ in rows if r)
    return 1 if right < RIGHT_MIN * count or named or off or known else 0


if __name__ == "__main__":
    sys.exit(main())
