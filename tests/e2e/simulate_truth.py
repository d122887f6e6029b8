#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Made-up jobs whose every number is known: the report must say those numbers.

    simulate_truth.py BUILD_FOLDER [--table] [--large] [NAME...]

Exact where metrics.md is exact (windows, unions, waits, transfers), on one clock. With clocks that
differ, waits and ends are within the bound that the report states, and lengths within the clocks' rates.
What is an estimate (gains, what steps would take without transfers) is within 1 % of the step. --table
prints each number of each scenario: truth, measured, error. NAME: only scenarios whose names hold it.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from scenarios import EXPERTS, LARGE, SCENARIOS
from simulated_job import SimulatedJob
from truth_path import Path
from truth_tables import allocator, key_of, labels_in_order, merge, read_works, tables_of

ESTIMATE_OFF_MAX = 0.01  # of a step
BOUND_NS_MAX = 50_000
PAIR_NS_MAX = 100
CLOCK_MHZ = 1980
SPREAD_OFF_MAX = 0.03
PATH_OFF_MAX = 0.001
STEP_FLOPS = 4e13  # of all ranks together
PEAK_FLOPS = 1e15
FUNCTIONS = {("data", "AllReduce"), ("tensor", "AllReduce"), ("link", "SendRecv"), ("expert", "AllToAll")}


class Rows:
    """What one scenario's numbers are, and should be."""

    def __init__(self, name):
        self.name, self.items = name, []

    def add(self, number, truth, measured, error, holds):
        self.items.append((number, truth, measured, error, holds))

    def same(self, number, truth, measured):
        self.add(number, truth, measured, "" if truth == measured else "differs", truth == measured)

    def near(self, number, truth, measured, limit):
        off = abs(measured - truth) if measured is not None else float("inf")
        self.add(number, truth, measured, f"{off / truth:.3%}" if truth else f"{off:.3g}", off <= limit)

    def sums(self, number, pairs, rate=0.0):
        """Pairs (truth, measured), each the same, but for clocks' rates; shown are their sums."""
        worst = max((abs(a - b) for a, b in pairs), default=0)
        holds = bool(pairs) and all(abs(a - b) <= rate * a + (2 if rate else 0) for a, b in pairs)
        self.add(f"{number}, {len(pairs)} in all", sum(a for a, _ in pairs), sum(b for _, b in pairs), f"{worst} ns",
                 holds)

    def failures(self):
        return [f"{self.name}: {number}: {measured}, not {truth} ({error})"
                for number, truth, measured, error, holds in self.items if not holds]

    def show(self):
        for number, truth, measured, error, holds in self.items:
            truth, measured = (f"{v:.5f}" if isinstance(v, float) else str(v) for v in (truth, measured))
            print(f"{self.name:46} {number:28} {truth:>26} {measured:>26} {error:>10}{'' if holds else '  WRONG'}")


def rate_of(truth):
    """What lengths may be off by, by clocks that run at other rates."""
    return 2e-9 * max(abs(node["drift_ppb"]) for node in truth["nodes"])


# ---- windows ----

def known_windows(report, truth):
    """(known, report's step) from each rank's second step on: the first has no end before it."""
    for rank in report["ranks"]:
        for step in rank["steps"][1:]:
            yield truth["steps"][step["number"]]["ranks"][rank["rank"]], step


def add_windows(rows, report, truth):
    windows = [(known, step, step["window"]) for known, step in known_windows(report, truth)]
    rate = rate_of(truth)
    for number in ("window", "compute", "comm", "copy"):
        rows.sums(number, [(known[f"{number}_ns"], window[f"{number}_ns"]) for known, _, window in windows], rate)
    rows.sums("overlapped", [(known["overlap_ns"], window["parts_ns"]["overlapped"]) for known, _, window in windows],
              rate)
    add_exposed(rows, windows, truth, report)
    idle = [(known["window_ns"] - known["compute_ns"] - known["comm_ns"] + known["overlap_ns"] - known["copy_ns"],
             sum(window["parts_ns"]["idle"].values())) for known, _, window in windows]
    rows.sums("idle", idle, 0 if rate == 0 else 1)
    for cause in windows[0][0]["idle_ns"]:
        rows.sums(f"idle: {cause}", [(known["idle_ns"][cause], window["parts_ns"]["idle"][cause])
                                     for known, _, window in windows], rate)
    rows.same("idle: unknown", 0, sum(window["parts_ns"]["idle"]["unknown"] for _, _, window in windows))
    parts = [(window["window_ns"], sum(sum(part.values()) if isinstance(part, dict) else part
                                       for part in window["parts_ns"].values())) for _, _, window in windows]
    rows.sums("the parts' sum", parts)
    for number, share in (("communication share", lambda k: k["comm_ns"] / k["window_ns"]),
                          ("exposed share", lambda k: (k["comm_ns"] - k["overlap_ns"]) / k["window_ns"]),
                          ("compute share", lambda k: k["compute_ns"] / k["window_ns"]),
                          ("GPU-Util", lambda k: (k["compute_ns"] + k["comm_ns"] - k["overlap_ns"]) / k["window_ns"])):
        key = {"communication share": "comm_share", "GPU-Util": "gpu_util"}.get(number, number.replace(" ", "_"))
        off = [abs(share(known) - window[key]) for known, _, window in windows]
        rows.near(f"{number}, last", share(windows[-1][0]), windows[-1][2][key], 1e-6 + rate)
        rows.same(f"{number}, all", True, max(off) <= 1e-6 + rate)


def add_batches(rows, report, truth):
    """Kernels run one after the other here: what all take in a batch of steps is the time in which any does."""
    pairs, batches = [], report["batches"]
    for index, batch in enumerate(batches["items"] if batches else []):
        numbers = range(batch["first_step"], batch["last_step"] + 1)
        pairs.append((sum(rank["compute_ns"] for n in numbers for rank in truth["steps"][n]["ranks"]),
                      sum(kernel["total_ns_by_batch"][index] for kernel in report["tables"]["kernels"]
                          if kernel["kind"] == "compute")))
    rows.sums("kernels by batch", pairs, rate_of(truth))


def counts(step):
    return step["is_recorded"] and not step["is_warmup"]


def steady_steps(report):
    """By rank, as the report has them."""
    return [{step["number"] for step in rank["steps"] if counts(step)} for rank in report["ranks"]]


def known_tables(report, works):
    return merge([tables_of(rank, steps) for rank, steps in zip(works, steady_steps(report))])


def add_tables(rows, report, truth, works):
    """Key tables, every number of every row."""
    known = known_tables(report, works)
    rate = rate_of(truth)
    for name, table in known.items():
        got = {key_of(name, row): row for row in report["tables"][name] if row["count"] > 0}
        rows.same(f"{name}, rows", sorted(table), sorted(got))
        common = [key for key in table if key in got]
        pairs = [(table[key], got[key]) for key in common]
        for number in sorted({number for row in table.values() for number in row}):
            off = [key for key, (a, b) in zip(common, pairs) if not is_near(a[number], b[number], rate, a)]
            known_sum, got_sum = (total(pair[side][number] for pair in pairs) for side in (0, 1))
            rows.add(f"{name}, {number}", known_sum, got_sum, str(off or ""), not off)


def add_memory(rows, report, works):
    known = [allocator(rank, steps) for rank, steps in zip(works, steady_steps(report))]
    got = [rank["allocator"] and {key: value for key, value in rank["allocator"].items() if key != "device_id"}
           for rank in report["ranks"]]
    for rank, use in zip(report["ranks"], got):
        if use:
            use["gap_ns"] -= next(step for step in rank["steps"] if counts(step))["window"]["start_ns"]
    if any(known) or any(got):
        rows.same("allocator", known, got)
        rows.same("a gap of it is told", True, any(f["id"] == "allocator_gap" for f in report["findings"]))


def check_orders(job):
    """--sort by every number of every table."""
    job.simulate(EXPERTS + ["micro-batches=2", "buckets=2", "shapes=2", "operators=1"],
                 ["hidden-sync rank=1 amount=4", "pageable-copy rank=2 amount=8MiB", "device-alloc rank=1 amount=1ms",
                  "extra-work rank=3 amount=2us", "slow-host rank=4 amount=30ms", "changing-shapes amount=2"], has_works=True)
    known, failures = known_tables(job.report(), read_works(job.works)), []
    for name, table in known.items():
        for column in sorted(next(iter(table.values()))):
            if column == "total_ns_by_rank":
                continue
            page = job.report_text("--tables", name, "--sort", column, "--top", "99").splitlines()
            first = next(at for at, line in enumerate(page) if f"by {column}, all ranks" in line) + 2
            shown_rows = [re.split(r" r\d+(?: [+-]\d+%| \d+x)? +", line)[-1].split("..")[0] for line in page[first:first + len(table)]]
            wanted = labels_in_order(name, table, column)
            if len(table) < 2 or not all(label.startswith(row.split(",")[0]) for row, label in zip(shown_rows, wanted)):
                failures.append(f"{name} by {column}: {shown_rows}, not {wanted}")
    return failures


def total(numbers):
    """Also of lists of numbers, which may be missing."""
    return sum(total(number) if isinstance(number, list) else number or 0 for number in numbers)


def is_near(known, got, rate, row):
    """The same, but for what is computed of it, and for clocks' rates; of a difference by those of its sides."""
    if known is None or got is None:
        return known is got
    if isinstance(known, list):
        return len(known) == len(got) and all(is_near(a, b, rate, row) for a, b in zip(known, got))
    exact, most = isinstance(known, int), abs(known) if known >= 0 else row["self_device_ns"]
    return abs(known - got) <= (0 if exact else 1e-5 * most) + rate * most + (2 * row["count"] if exact and rate else 0)


def add_exposed(rows, windows, truth, report):
    """What no compute hides, before and after all are there: by clocks, but for their bounds."""
    per_step = len(truth["collectives"]) // truth["step_count"]
    limit_ns = per_step * (2 * max(r["bound_ns"] for r in report["ranks"]) + 4) if len(truth["nodes"]) > 1 else 0
    recorded = max(rank["steps"][0]["number"] for rank in report["ranks"])  # what ranks lack has no wait
    windows = [window for window in windows if window[1]["number"] > recorded]
    exposed = [known["comm_ns"] - known["overlap_ns"] for known, _, _ in windows]
    for number, pairs in (
            ("transfer, exposed", [(known["transfer_ns"], window["parts_ns"]["comm_transfer"])
                                   for known, _, window in windows]),
            ("waiting", [(all_ns - known["transfer_ns"], window["parts_ns"]["comm_wait"])
                         for all_ns, (known, _, window) in zip(exposed, windows)])):
        worst = max(abs(a - b) for a, b in pairs)
        rows.add(f"{number}, {len(pairs)} in all", sum(a for a, _ in pairs), sum(b for _, b in pairs), f"{worst} ns",
                 worst <= limit_ns)


def add_buckets(rows, report, truth):
    """Where the slices of a layer have AllReduces in backward, too, those are buckets as well."""
    if any(c["kind"] == "tensor" for c in truth["collectives"]) or not truth["collectives"]:
        return
    steps = list(known_windows(report, truth))
    for number, key in (("buckets", "buckets_ns"), ("hidden by backward", "hidden_ns"), ("tail", "tail_ns")):
        got = {"hidden_ns": "overlapped_ns"}.get(key, key)
        rows.sums(number, [(known[key], step["backward_overlap"][got]) for known, step in steps], 2 * rate_of(truth))


# ---- collectives ----

def pair_collectives(report, truth):
    """(known, got) of each communicator from its last on: where windows are cut, the first are missing."""
    known, got = {}, {}
    for collective in truth["collectives"]:
        known.setdefault(collective["comm_id"], []).append(collective)
    for collective in report["collectives"]:
        got.setdefault(int(collective["comm_id"], 16), []).append(collective)
    for comm_id, items in known.items():
        items.sort(key=lambda c: c["end_ns"])
        found = sorted(got.get(comm_id, []), key=lambda c: c["first_start_ns"])
        yield from zip(reversed(items), reversed(found))


def add_collectives(rows, report, truth):
    if truth["rank_count"] == 1:
        return
    pairs = [(known, got) for known, got in pair_collectives(report, truth) if len(got["ranks"]) == len(known["ranks"])]
    rate = rate_of(truth)
    recorded = max(rank["steps"][0]["number"] for rank in report["ranks"])  # by all ranks
    rows.same("collectives of steps that all ranks have", sum(c["step"] >= recorded for c in truth["collectives"]),
              sum(known["step"] >= recorded for known, _ in pairs))
    rows.same("sequence numbers", [], [known["seq"] for known, got in pairs
                                       if (known["kind"], "AllReduce") in FUNCTIONS and known["seq"] != got["seq"]])
    rows.same("weak matches", 0, sum(got["confidence"] == "weak" for _, got in pairs))
    rows.same("functions", [], sorted({(known["kind"], got["func"]) for known, got in pairs} - FUNCTIONS))
    rows.same("names of communicators", 0, sum(known["kind"] != got["comm_name"] for known, got in pairs))
    rows.same("bytes that differ", 0, sum(known["bytes"] != got["bytes"] for known, got in pairs))
    rows.sums("transfer", [(known["transfer_ns"], got["transfer_ns"]) for known, got in pairs], rate)
    bounds = {rank["rank"]: rank["bound_ns"] for rank in report["ranks"]}
    limit_ns = 2 * max(bounds.values()) + 4 if len(truth["nodes"]) > 1 else 0
    waits = [(wait_ns, part["wait_ns"]) for known, got in pairs for wait_ns, part in zip(known["wait_ns"], got["ranks"])]
    rows.add(f"wait, {len(waits)} in all", sum(a for a, _ in waits), sum(b for _, b in waits),
             f"{max(abs(a - b) for a, b in waits)} ns", all(abs(a - b) <= limit_ns for a, b in waits))
    rows.same("wait + active", 0, sum(part["wait_ns"] + part["active_ns"] != part["duration_ns"]
                                      for _, got in pairs for part in got["ranks"]))
    told = [(known, got) for known, got in pairs if known["wait_ns"].count(0) == 1 and got["last_is_distinguishable"]]
    rows.same("last rank, where it can be told", 0, sum(known["last_rank"] != got["last_rank"] for known, got in told))
    for kind, (known, got) in {known["kind"]: (known, got) for known, got in reversed(pairs)}.items():
        speed = bus_bandwidth(known)
        rows.near(f"busbw of the last, {kind}, GB/s", speed, got["busbw_bytes_per_s"] / 1e9,
                  speed * (1e-4 if limit_ns == 0 else 0.01))


def bus_bandwidth(known):
    count = len(known["ranks"])
    factor = {"link": 1, "expert": (count - 1) / count}.get(known["kind"], 2 * (count - 1) / count)
    return known["bytes"] * factor / known["transfer_ns"]


def add_clocks(rows, report, truth):
    """Collectives end together: what the report's clocks make of that is within their bounds."""
    if all(node["offset_ns"] == 0 for node in truth["nodes"]):
        return
    bounds = {rank["rank"]: rank["bound_ns"] for rank in report["ranks"]}
    first = [rank["rank"] for rank in report["ranks"] if rank["node"] == 0]
    rows.same("clocks", ["measured", "reference"], sorted({rank["align_state"] for rank in report["ranks"]}))
    rows.same("bounds of node 0 are its clock pairs'", True, max(bounds[rank] for rank in first) <= PAIR_NS_MAX)
    rows.same("other bounds are small", True, all(0 < bounds[r] < BOUND_NS_MAX for r in bounds if r not in first))
    off = [abs(part["job_start_ns"] + part["duration_ns"] - known["end_ns"]) - bounds[part["rank"]]
           for known, got in pair_collectives(report, truth) for part in got["ranks"]]
    rows.add("ends above their bounds", 0, max(off), "", max(off) <= 2)


# ---- steps of all ranks ----

def longest_ns(truth, numbers):
    """Mean over these steps of the longest window."""
    return sum(max(rank["window_ns"] for rank in truth["steps"][n]["ranks"]) for n in numbers) / len(numbers)


def add_efficiency(rows, job, scenario, report, truth):
    numbers = [step["number"] for step in report["replay"]["steps"]]
    steps = [truth["steps"][n]["ranks"] for n in numbers]
    # a rank's first window begins where its records do
    for rank in report["ranks"]:
        first = rank["steps"][0]
        truth["steps"][first["number"]]["ranks"][rank["rank"]]["window_ns"] = first["window"]["window_ns"]
    useful = [sum(step[r]["compute_ns"] for step in steps) for r in range(truth["rank_count"])]
    windows_ns = sum(rank["window_ns"] for step in steps for rank in step)
    total_ns = longest_ns(truth, numbers) * len(numbers)
    got, limit = report["efficiency"], 1e-5 + rate_of(truth)
    rows.near("parallel efficiency", sum(useful) / windows_ns, got["parallel"], limit)
    rows.near("load balance", sum(useful) / len(useful) / max(useful), got["balance"], limit)
    rows.near("communication efficiency", max(useful) / total_ns, got["comm"], limit)
    flops_per_s = STEP_FLOPS / truth["rank_count"] / (total_ns / len(numbers) / 1e9)
    rows.near("FLOPs a second of a GPU", flops_per_s, got["flops_per_s"], limit * flops_per_s)
    rows.near("MFU", flops_per_s / PEAK_FLOPS, got["mfu"], limit * flops_per_s / PEAK_FLOPS)
    rows.same("replay", True, report["replay"]["is_valid"])
    rows.near("misses the steps by", 0, report["replay"]["miss"], ESTIMATE_OFF_MAX)
    without = [fault for fault in scenario.faults if not fault.startswith("slow-link")]
    instant = job.simulate(scenario.settings + ["bandwidth=900000GB", "collective=0ns"], without)
    rows.near("without transfers, ns a step", longest_ns(instant, numbers), report["replay"]["inst_ns"] / len(numbers),
              ESTIMATE_OFF_MAX * total_ns / len(numbers))


def add_path(rows, report, truth, works):
    """What the ends of steps hung on, and through which rank that runs."""
    bound_ns = 2 * max(rank["bound_ns"] for rank in report["ranks"]) if len(truth["nodes"]) > 1 else 0
    numbers = [step["number"] for step in report["replay"]["steps"]]
    known, got = Path(works, truth, numbers, bound_ns), report["replay"]["critical_path"]
    limit = PATH_OFF_MAX * known.total_ns
    untold_ns = known.untold_ns if bound_ns else 0
    rows.near("critical path", known.total_ns, got["total_ns"], limit)
    rows.near("of it transfers", known.transfer_ns, got["transfer_ns"], limit)
    for cause, own_ns in known.own_ns.items():
        rows.near(f"of it {cause}", own_ns, got["own_ns"][cause], limit)
    off = [abs(a - b) for a, b in zip(known.rank_ns, got["own_by_rank_ns"])]
    rows.near("of it through the rank that is most off", 0, max(off), limit + untold_ns)
    rows.near(f"elsewhere in step {got['step_number']}, ns", 0, known.differs_ns(got["step_number"], got["pieces"]),
              limit / len(numbers) + untold_ns)
    rows.same("a transfer's function, an own work's cause", 0,
              sum((piece["cause"] is None) != (piece["func"] is not None) for piece in got["pieces"]))


def ranks_of(fault):
    words = dict(word.split("=") for word in fault.split() if "=" in word)
    if "rank" not in words:
        return None
    first, _, end = words["rank"].partition(":")
    return list(range(int(first), int(end or int(first) + 1)))


def add_straggler(rows, job, scenario, report, truth):
    straggler = report["straggler"]
    if not scenario.named:
        rows.same("straggler", False, straggler["is_found"])
        return
    ranks, cause = scenario.named
    group = straggler["group"]
    rows.same("straggler", ranks, group["ranks"] if group else [straggler["rank"]])
    rows.same("cause", cause, straggler["cause"])
    numbers = [step["number"] for step in report["replay"]["steps"]]
    fixed = job.simulate(scenario.settings, [fault for fault in scenario.faults if ranks_of(fault) != ranks])
    step_ns = longest_ns(truth, numbers)
    rows.near("gain, ns a step", step_ns - longest_ns(fixed, numbers), straggler["gain_ns"], ESTIMATE_OFF_MAX * step_ns)
    for fault in truth["faults"]:
        if fault["kind"] == "throttled":
            known = CLOCK_MHZ * 1e6 // (1e6 + fault["amount"])
            rows.near("clock, MHz", known, straggler["gpu"] and straggler["gpu"]["sm_clock_mhz"], 1)


# What a rank has more of, dealt out to all: the same as each rank at the mean of all.
DEALT = ("slow-compute", "extra-work", "other-shapes", "slow-input", "slow-host", "device-alloc", "pageable-copy", "launch-gaps")


def deal_out(fault, ranks, rank_count):
    """The fault on all ranks, so that they bear the same together."""
    words = [word for word in fault.split() if not word.startswith("rank=")]
    amount = next(word for word in words if word.startswith("amount="))
    number = amount[len("amount="):]
    unit = number.lstrip("0123456789")
    factor = {"ms": 1_000_000, "us": 1000, "MiB": 2**20}[unit]
    dealt = int(number[:-len(unit)]) * factor * len(ranks) // rank_count
    return " ".join(words).replace(amount, f"amount={dealt}{'B' if unit == 'MiB' else 'ns'}")


def add_slowdown(rows, job, scenario, report, truth):
    """Of data parallel ranks of one speed; transfers are as they should be."""
    faults = scenario.faults
    if any(word == "ranks=1" or word.startswith(("tp=", "pp=", "ep-spread")) for word in scenario.settings):
        return
    if not all(fault.startswith(DEALT) or ranks_of(fault) is None for fault in faults):
        return
    numbers = [step["number"] for step in report["replay"]["steps"]]
    ideal = job.simulate(scenario.settings, [fault if ranks_of(fault) is None else
                                             deal_out(fault, ranks_of(fault), truth["rank_count"]) for fault in faults])
    known = longest_ns(truth, numbers) / longest_ns(ideal, numbers)
    # metrics.md, Replay, blind spots: host time between launches of one stretch
    limit = SPREAD_OFF_MAX if any(fault.startswith("launch-gaps rank") for fault in faults) else ESTIMATE_OFF_MAX
    rows.near("slowdown S", known, report["replay"]["slowdown"], limit * known)
    rows.near("waste", 1 - 1 / known, report["replay"]["waste"], limit)


COMPUTE_KINDS = {"slow-compute": "slower", "throttled": "slower", "extra-work": "more kernels",
                 "other-shapes": "other shapes"}


def add_compute_kind(rows, scenario, report, truth):
    """Whether kernels are slower, or more of them, and by how much."""
    faults = [fault for fault in truth["faults"] if fault["kind"] in COMPUTE_KINDS]
    if not scenario.named or scenario.named[1] != "compute" or len(faults) != 1:
        return
    fault, compute = faults[0], report["straggler"]["compute"]
    rows.same("of compute", COMPUTE_KINDS[fault["kind"]], compute["kind"])
    rows.near("kernels more", fault["kind"] == "extra-work", compute["kernel_count"] - compute["others_kernel_count"], 0)
    useful_ns = truth["steps"][-1]["ranks"][fault["first_rank"]]["compute_ns"]
    rows.near("of other shapes, ns", fault["amount"] if fault["kind"] == "other-shapes" else 0, compute["other_shapes_ns"],
              ESTIMATE_OFF_MAX * useful_ns if fault["kind"] == "other-shapes" else 0)
    if fault["kind"] == "throttled":
        rows.near("slowdown of kernels", 1 + fault["amount"] / 1e6, compute["slowdown"], ESTIMATE_OFF_MAX)
        return
    slower = fault["amount"] if fault["kind"] == "slow-compute" else 0
    more = fault["amount"] if fault["kind"] == "extra-work" else 0
    rows.near("slower by, ns", slower, compute["slower_ns"], ESTIMATE_OFF_MAX * useful_ns)
    rows.near("more kernels by, ns", more, compute["more_kernels_ns"], 0)


def add_findings(rows, job, scenario, report, truth):
    if scenario.found is None:
        return
    found = {f["id"]: f for f in report["findings"] if f["severity"] != "info"}
    rows.same("findings", sorted(scenario.found), sorted(found))
    rows.same("shapes that change are told", any(fault.startswith("changing-shapes") for fault in scenario.faults),
              any(f["id"] == "changing_shapes" for f in report["findings"]))
    if "slow_link" in scenario.found and "slow_link" in found:
        numbers = [step["number"] for step in report["replay"]["steps"]]
        cost_ns = longest_ns(truth, numbers) - longest_ns(job.simulate(scenario.settings, []), numbers)
        rows.near("a usual link saves, ns a step", cost_ns, found["slow_link"]["save_ns"],
                  ESTIMATE_OFF_MAX * longest_ns(truth, numbers))


def walk(job, scenario):
    truth = job.simulate(scenario.settings, scenario.faults, has_works=True)
    works = read_works(job.works)
    report = job.report("--step-flops", f"{STEP_FLOPS:.0e}", "--peak-flops", f"{PEAK_FLOPS:.0e}")
    rows = Rows(scenario.name)
    if "cut=" not in " ".join(scenario.settings):
        rows.same("steps", [truth["step_count"]] * truth["rank_count"], [len(rank["steps"]) for rank in report["ranks"]])
    add_windows(rows, report, truth)
    add_batches(rows, report, truth)
    add_tables(rows, report, truth, works)
    add_memory(rows, report, works)
    add_buckets(rows, report, truth)
    add_collectives(rows, report, truth)
    add_clocks(rows, report, truth)
    add_efficiency(rows, job, scenario, report, truth)
    add_path(rows, report, truth, works)
    add_straggler(rows, job, scenario, report, truth)
    add_compute_kind(rows, scenario, report, truth)
    add_slowdown(rows, job, scenario, report, truth)
    add_findings(rows, job, scenario, report, truth)
    return rows


def check(what, got, want):
    return [] if got == want else [f"{what}: {got}, not {want}"]


def check_refusals(ranktrace, folder):
    failures = []
    scenario = folder / "bad.scenario"
    scenario.write_text("ranks = 2\nrank = 3\n", encoding="utf-8")
    before = (folder / "run.rkt").read_bytes()
    for words, said in ((["-o", folder / "run.rkt"], "run.rkt exists: --force overwrites it"),
                        (["-o", folder / "new.rkt", "--truth", folder / "truth.json"],
                         "truth.json exists: --force overwrites it"),
                        (["-f", "-o", "run.rkt", "--truth", folder / "run.rkt"], "are the same file"),
                        (["-o", "new.rkt", "--truth", "./new.rkt"], "are the same file"),
                        (["-o", "new.rkt", "--works", "new.rkt"], "are the same file"),
                        (["-s", "overlap=7"], "overlap is 0 or 1, not 7"),
                        ([scenario], "bad.scenario: line 2: unknown key 'rank': did you mean 'ranks'?"),
                        (["-s", "rank = 3"], "--set 'rank = 3': unknown key 'rank'")):
        done = subprocess.run([ranktrace, "simulate", *words], check=False, cwd=folder, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        failures += check(said, (done.returncode, said in done.stderr, done.stderr.count("\n")), (2, True, 1))
    failures += check("nothing is overwritten", (folder / "run.rkt").read_bytes() == before, True)
    done = subprocess.run([ranktrace, "simulate", "-o", folder / "new.rkt", "--truth", folder / "none" / "truth.json"],
                          check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    failures += check("a truth without a folder, found before the work",
          (done.returncode, done.stderr.count(b"\n"), (folder / "new.rkt").exists()), (1, 1, False))
    return failures


def check_bytes(job):
    """The same scenario gives the same bytes."""
    settings = ["ranks=8", "nodes=4", "tp=2", "cut=80ms"]
    job.simulate(settings, [])
    first = job.timeline.read_bytes()
    job.simulate(settings, [])
    return check("the same bytes", job.timeline.read_bytes() == first, True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("build", type=pathlib.Path)
    ap.add_argument("--table", action="store_true")
    ap.add_argument("--large", action="store_true", help="also those of 256 ranks")
    ap.add_argument("names", nargs="*")
    args = ap.parse_intermixed_args()
    ranktrace = args.build.resolve() / "bin" / "ranktrace"
    wanted = [scenario for scenario in SCENARIOS + (LARGE if args.large else [])
              if not args.names or any(name in scenario.name for name in args.names)]
    failures, count = [], 0
    with tempfile.TemporaryDirectory() as name:
        job = SimulatedJob(ranktrace, pathlib.Path(name))
        for scenario in wanted:
            rows = walk(job, scenario)
            failures += rows.failures()
            count += len(rows.items)
            if args.table:
                rows.show()
        if not args.names:
            failures += check_orders(job) + check_bytes(job) + check_refusals(ranktrace, pathlib.Path(name))
    for failure in failures[:40]:
        print(failure)
    print(f"{len(wanted)} scenarios, {count} numbers, {len(failures)} differences")
    return 1 if failures or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
