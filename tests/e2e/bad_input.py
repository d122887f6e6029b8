#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks and steps that lack something: every number is defined, or null with a reason; parts sum exactly; nothing is NaN, in no output."""

import json
import subprocess
import sys

from import_bugs import NCCL, kernel, launch, run_checks, step, trace


def refuse(word):
    raise ValueError(f"{word} in the report")


def collective(i, ts, dur, corr):
    return kernel(NCCL, ts, dur, corr, 20, **{"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float", "Group size": 2,
                                             "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": i})


def good(count=6, with_collectives=True):
    """A rank: steps of 1 ms with a kernel of 400 us, and an AllReduce of 100 us behind it."""
    events = []
    for i in range(count):
        at = i * 1000
        events += [step(i, at, 1000), launch(at + 10, 5, i * 10 + 1), kernel("gemm", at + 20, 400, i * 10 + 1)]
        if with_collectives:
            events += [launch(at + 30, 5, i * 10 + 2), collective(i, at + 420, 100, i * 10 + 2)]
    return events


def total(parts):
    return sum(total(part) if isinstance(part, dict) else part for part in parts.values())


def check_windows(bugs, what, result):
    for rank in result["ranks"]:
        for window in [rank["run"], rank["outside"]] + [s["window"] for s in rank["steps"]]:
            if window:
                parts = window.get("parts_ns") or window["host_parts_ns"]
                bugs.equal(f"{what}: parts of rank {rank['rank']}", total(parts), window["window_ns"])


def output(bugs, what, program, *words):
    """What a program writes about the last store; it ends well and writes no NaN."""
    done = subprocess.run([bugs.build / "bin" / f"ranktrace-{program}", *words], capture_output=True, text=True)
    if done.returncode != 0:
        bugs.faults.append(f"{what}: {program} {words} ends with {done.returncode}: {done.stderr}")
    elif "json" in words or program == "export":
        json.loads(done.stdout, parse_constant=refuse)
    elif " nan" in done.stdout.lower() or " -nan" in done.stdout.lower():
        bugs.faults.append(f"{what}: nan in the text of {program}")
    return done.stdout


def check_reasons(bugs, what, result):
    """Where there is no replay it is said why, and nothing is told from it."""
    replay, efficiency = result["replay"], result["efficiency"]
    bugs.equal(f"{what}: a reason", replay["is_valid"], replay["why_not"] == "")
    if not replay["is_valid"] and efficiency:
        bugs.equal(f"{what}: told from no replay", (efficiency["serial"], efficiency["transfer"]), (None, None))
    if not result["straggler"]["is_found"] and result["straggler"]["loss_share"] is None:
        bugs.holds(f"{what}: why no straggler", result["page"], "Whether a rank holds the others up: n/a; ")


def check(bugs, what, *ranks):
    """The report on these ranks' events."""
    result = bugs.report(*(trace(events, i, len(ranks)) for i, events in enumerate(ranks)))
    store = bugs.folder / "out.rkt"
    output(bugs, what, "report", "--format", "json", store)
    result["page"] = output(bugs, what, "report", "--tables", "all", store)
    output(bugs, what, "export", store)
    output(bugs, what, "compare", "--format", "json", store, store)
    output(bugs, what, "compare", store, store)
    check_windows(bugs, what, result)
    check_reasons(bugs, what, result)
    return result


def ranks_that_lack(bugs):
    hosts = [e for e in good() if e["cat"] != "kernel"]
    result = check(bugs, "no kernels on a rank", good(), hosts)
    bugs.equal("no kernels: view", [r["is_host_view"] for r in result["ranks"]], [False, True])
    bugs.equal("no kernels: GPU-Util", result["ranks"][1]["run"]["gpu_util"], None)

    result = check(bugs, "no kernels at all", hosts, hosts)
    bugs.equal("no kernels at all: comm share", result["summary"]["gpu_util"], None)

    unlaunched = [e for e in good() if e["cat"] != "cuda_runtime"]
    result = check(bugs, "no launches", good(), unlaunched)
    idle = result["ranks"][1]["run"]["parts_ns"]["idle"]
    bugs.equal("no launches: idle is unknown", (idle["unknown"] > 0, total(idle) - idle["unknown"]), (True, 0))
    bugs.equal("no launches: compute", result["ranks"][1]["run"]["compute_ns"], 6 * 400_000)
    result = check(bugs, "no launches at all", unlaunched, unlaunched)
    bugs.equal("no launches at all: steps by when the work ran", [s["window"]["compute_ns"] for s in result["ranks"][0]["steps"]], [400_000] * 6)
    bugs.equal("no launches at all: ready", {p["ready_ns"] for c in result["collectives"] for p in c["ranks"]}, {None})

    result = check(bugs, "no collectives", good(with_collectives=False), good(with_collectives=False))
    bugs.equal("no collectives: overlap", result["ranks"][0]["run"]["overlap"], None)
    bugs.equal("no collectives: straggler", result["straggler"]["is_found"], False)
    bugs.equal("no collectives: replay", (result["replay"]["is_valid"], bool(result["replay"]["why_not"])), (False, True))
    bugs.equal("no collectives: busbw", result["busbw"], [])

    result = check(bugs, "no collectives on a rank", good(), good(with_collectives=False))
    bugs.equal("no collectives on a rank", (result["collectives"], result["unmatched_count"]), ([], 6))
    bugs.equal("no collectives on a rank: neither wait nor transfer",
               [result["ranks"][0]["run"]["parts_ns"][part] for part in ("comm_unsplit", "comm_wait", "comm_transfer")], [600_000, 0, 0])

    result = check(bugs, "an empty rank", good(), [])
    bugs.holds("an empty rank", result["merge"], "no events in it: this rank is empty")
    bugs.equal("an empty rank", [(r["is_host_view"], r["run"]["window_ns"]) for r in result["ranks"]], [(False, 5_500_000), (True, 0)])

    marks = [e for e in good() if e["cat"] == "user_annotation"]
    result = check(bugs, "only marks", good(), marks)
    bugs.equal("only marks: all of it is the host's", {s["window"]["host_parts_ns"]["host"] for s in result["ranks"][1]["steps"]}, {1_000_000})
    bugs.holds("only marks", result["text"], "1 of 2 ranks recorded no GPU work")

    result = check(bugs, "unequal counts", good(), good(4))
    bugs.equal("unequal counts", (len(result["collectives"]), result["unmatched_count"]), (4, 2))


def steps_that_are_odd(bugs):
    result = check(bugs, "one step", good(1), good(1))
    bugs.equal("one step: steps", [len(r["steps"]) for r in result["ranks"]], [1, 1])
    bugs.equal("one step: straggler", result["straggler"]["is_found"], False)

    overlapping = [dict(e, dur=1300) if e["name"].startswith("ProfilerStep") else e for e in good()]
    result = check(bugs, "overlapping steps", overlapping, overlapping)
    bugs.equal("overlapping steps: cut", [s["is_cut"] for s in result["ranks"][0]["steps"]], [True] * 5 + [False])

    nested = good() + [step(100 + i, i * 1000 + 100, 300) for i in range(6)]
    result = check(bugs, "nested steps", nested, nested)
    bugs.equal("nested steps: the outermost", [s["number"] for s in result["ranks"][0]["steps"]], list(range(6)))

    instants = good() + [step(50 + i, i * 1000 + 500, 0) for i in range(6)]
    result = check(bugs, "steps without length", instants, good())
    bugs.equal("steps without length: those around them", [s["number"] for s in result["ranks"][0]["steps"]], list(range(6)))

    instants = [dict(e, dur=0) if e["cat"] == "user_annotation" else e for e in good()]
    result = check(bugs, "only steps without length", instants, good())
    bugs.equal("only steps without length", [len(r["steps"]) for r in result["ranks"]], [6, 6])

    outside = [launch(-500, 5, 900), kernel("before", -400, 100, 900)] + good() + [launch(7000, 5, 901), kernel("after", 7100, 50, 901)]
    result = check(bugs, "outside any step", outside, good())
    bugs.equal("outside any step", result["ranks"][0]["outside"]["compute_ns"], 150_000)
    bugs.equal("outside any step: steps", [s["window"]["compute_ns"] for s in result["ranks"][0]["steps"]], [400_000] * 6)


def kernels_that_are_odd(bugs):
    zero = good() + [kernel("nothing", i * 1000 + 20, 0, 800 + i) for i in range(6)]
    result = check(bugs, "zero-length kernels", zero, good())
    bugs.equal("zero-length kernels", result["ranks"][0]["run"]["compute_ns"], 6 * 400_000)

    nothing = [e for e in zero if e["name"] != "gemm" and e["name"] != NCCL]
    result = check(bugs, "only zero-length kernels", nothing, good())
    bugs.equal("only zero-length kernels", (result["ranks"][0]["run"]["compute_ns"], result["ranks"][0]["run"]["kernels"]["compute"]), (0, 6))
    bugs.equal("only zero-length kernels: overlap", result["ranks"][0]["run"]["overlap"], None)

    ends_first = good() + [kernel("backwards", i * 1000 + 600, -50, 700 + i) for i in range(6)]
    result = check(bugs, "kernels that end before they start", ends_first, good())
    bugs.equal("kernels that end before they start", (result["ranks"][0]["losses"], result["ranks"][0]["run"]["compute_ns"]), ({"bad_stamp": 6}, 6 * 400_000))

    early = [dict(e, ts=e["ts"] + 50) if e["cat"] == "cuda_runtime" else e for e in good()]
    result = check(bugs, "negative queue lengths", early, early)
    bugs.equal("negative queue lengths", min(row["queued_ns"] for row in result["tables"]["streams"]) >= 0, True)
    bugs.equal("negative queue lengths: depth", min(row["depth_mean"] for row in result["tables"]["streams"]) >= 0, True)
    bugs.holds("negative queue lengths", result["text"], "start before their own launch")


if __name__ == "__main__":
    sys.exit(run_checks((ranks_that_lack, steps_that_are_odd, kernels_that_are_odd)))
