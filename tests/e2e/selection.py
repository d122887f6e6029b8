#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A part of a run: --ranks, --steps, --since and --until of report and export.

    selection.py BUILD_FOLDER

What is selected has the numbers that it has in the whole run, whatever the number of processes; the report says what
it is of; what does not exist is one line and code 2; ranks that are not selected are not read.
It is the same, too, where the timeline does not say when its batches are and all of it is read.
"""
import json
import pathlib
import struct
import tempfile
import zlib

import store_frames
from mpi_run import mpirun
from reports import HAS_MPI, RANKTRACE, check, end, run, simulate

RANKS = 6


def report(path, *options):
    done = run(RANKTRACE, "report", "-f", "json", "--jobs", "1", *options, path)
    check(f"{options}", (done.returncode, done.stderr), (0, b""))
    return json.loads(done.stdout)


def counted(rank):
    return [step for step in rank["steps"] if step["is_recorded"]]


# ---- the same numbers ----

def check_steps(path, whole):
    part = report(path, "--steps", "7:12")
    check("steps: selection", part["selection"], {"rank_spans": [], "rank_count_in_all": RANKS,
                                                  "steps": {"from": 7, "to": 12}, "since_ns": None, "until_ns": None})
    check("the whole: selection", whole["selection"], None)
    for full, rank in zip(whole["ranks"], part["ranks"]):
        check("steps: numbers", [step["number"] for step in counted(rank)], list(range(7, 12)))
        for step in counted(rank):
            check(f"rank {rank['rank']}, step {step['number']}", step, full["steps"][step["number"]])
    check("steps: straggler", (part["straggler"]["rank"], part["straggler"]["steps_in_all"]), (2, 5))
    seqs = {c["seq"]: c for c in whole["collectives"]}
    of_part = [c for c in part["collectives"] if c["step_index"] not in (None, 0)]
    check("steps: collectives", len(of_part), 5 * len(whole["collectives"]) // 20)
    for collective in of_part:
        check("steps: a collective", collective["transfer_ns"], seqs[collective["seq"]]["transfer_ns"])


def check_ranks(path, whole):
    part = report(path, "--ranks", "1-2,5")
    check("ranks", [rank["rank"] for rank in part["ranks"]], [1, 2, 5])
    check("ranks: selection", part["selection"]["rank_spans"], [{"first": 1, "last": 2}, {"first": 5, "last": 5}])
    check("ranks: none is missing", [note["text"] for note in part["notes"] if "missing" in note["text"]], [])
    for rank in part["ranks"]:
        full = whole["ranks"][rank["rank"]]
        check(f"rank {rank['rank']}: windows", [step["window"]["window_ns"] for step in rank["steps"]],
              [step["window"]["window_ns"] for step in full["steps"]])
        check(f"rank {rank['rank']}: compute", rank["run"]["compute_ns"], full["run"]["compute_ns"])
    check("ranks: fewer records are read", part["run"]["event_count"] < whole["run"]["event_count"] * 0.6, True)


def check_time(path, whole):
    """Half a step more or less: where the run starts is known that well, and no better."""
    step_ns = whole["summary"]["step_ns"]
    part = report(path, "--since", f"{9 * step_ns // 2}ns", "--until", f"{19 * step_ns // 2}ns", "--ranks", "0,4")
    for rank in part["ranks"]:
        check("time", [step["number"] for step in counted(rank)], [5, 6, 7, 8])
    both = report(path, "--since", f"{9 * step_ns // 2}ns", "--steps", ":7")
    check("time and steps", [step["number"] for step in counted(both["ranks"][0])], [5, 6])


# ---- whatever is read of it ----

def without_spans(path, folder):
    """The same run, and the same frames, but none of them tells of a batch."""
    silent = []
    for frame in store_frames.read(path):
        if store_frames.kind(frame) == store_frames.SPANS:
            payload = bytes((0x81, 0, 0))
            head = bytearray(frame[:28])
            head[6:8] = bytes(2)
            struct.pack_into("<III", head, 16, len(payload), len(payload), zlib.crc32(payload))
            frame = store_frames.with_head(head, payload)
        if store_frames.kind(frame) not in store_frames.OF_INDEX:
            silent.append(frame)
    (folder / "cut.rkt").write_bytes(b"".join(silent))
    (folder / "silent").mkdir()
    out = folder / "silent" / path.name
    check("recover", run(RANKTRACE, "recover", "-o", out, folder / "cut.rkt").returncode, 0)
    return out


def check_spans(folder):
    path = simulate(folder / "long.rkt", "ranks=2", "steps=400",
                    "fault = slow-compute rank=1 amount=3ms")
    silent = without_spans(path, folder)
    parts = ("--steps 200:203", "--steps 0:2", "--steps 40:41", "--steps 398:", "--steps 100:300", "--since 1s --until 1.3s",
             "--since 9s", "--until 500ms", "--since 5s --steps 160:180", "--steps 200:201 --ranks 1")
    for part in parts:
        for form in ("json", "text"):
            told, read = (run(RANKTRACE, "report", "-f", form, "--jobs", "1", *part.split(), timeline)
                          for timeline in (path, silent))
            same = [line for line in told.stdout.splitlines() if b"_bytes" not in line]
            check(f"spans: {part}, {form}", (told.returncode, len(told.stdout) > 500), (0, True))
            check(f"spans: {part}, {form}", same == [line for line in read.stdout.splitlines() if b"_bytes" not in line],
                  True)


# ---- however it is made ----

def check_teams(path):
    options = ["--steps", "7:12", "--ranks", "0-3,5", "--since", "100ms"]
    teams = [([], ["--jobs", "3"]), ([], ["--jobs", "8"])]
    if HAS_MPI:
        teams.append((mpirun(3), []))
    for form in ("text", "json"):
        alone = run(RANKTRACE, "report", "-f", form, "--jobs", "1", *options, path)
        check(f"{form}: alone", (alone.returncode, len(alone.stdout) > 500), (0, True))
        for before, after in teams:
            done = run(*before, RANKTRACE, "report", "-f", form, *options, path, *after)
            check(f"{form}, {before} {after}", (done.returncode, done.stdout == alone.stdout), (0, True))
    for before, after in teams:
        done = run(*before, RANKTRACE, "report", "--steps", "90:99", path, *after)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith("ranktrace")]
        check(f"no such step, {before} {after}", (done.returncode, done.stdout, len(lines)), (2, b"", 1))


def check_words(path):
    text = run(RANKTRACE, "report", "--steps", "7:12", "--ranks", "0-3", path).stdout.decode()
    check("the report says of what it is", "A PART ONLY: ranks 0-3; steps 7 to 11;" in text, True)
    check("how many ranks", "4 ranks of 6," in text, True)
    check("how many steps", "steps: 5 selected of 20," in text, True)
    check("the whole says nothing", b"PART" in run(RANKTRACE, "report", path).stdout, False)
    cases = [
        (["--ranks", "6"], "there is no rank 6: the timeline holds 6 ranks, from 0 to 5"),
        (["--ranks", "2-"], "'2-' is no rank"),
        (["--steps", "20:30"], "there are steps 0 to 19"),
        (["--steps", "9"], "'9' is not FROM:TO"),
        (["--since", "1h"], "no whole step is in it"),
        (["--since", "2s", "--until", "1s"], "nothing lies between"),
    ]
    for words, part in cases:
        for command in ("report", "export"):
            done = run(RANKTRACE, command, *words, path)
            check(f"{command} {words}: {done.stderr}", (done.returncode, done.stdout, done.stderr.count(b"\n"),
                                                        part in done.stderr.decode()), (2, b"", 1, True))


def check_step_range(path):
    done = run(RANKTRACE, "report", "--step-range", "nosuch", path)
    text = done.stdout.decode()
    check("no such range", (done.returncode, "NOT from --step-range: no range's name begins so" in text,
                            "warning: --step-range nosuch: no range's name begins so: steps are from marks" in text),
          (0, True, True))


def check_export(path):
    done = run(RANKTRACE, "export", "--ranks", "1", "--steps", "7:9", path)
    again = run(RANKTRACE, "export", "--ranks", "1", "--steps", "7:9", "--memory", "0", path)
    whole = run(RANKTRACE, "export", path)
    check("export", (done.returncode, again.stdout == done.stdout), (0, True))
    check("export: a part", 1000 < len(done.stdout) < len(whole.stdout) / 20, True)
    check("export: one rank", [rank["rank"] for rank in json.loads(done.stdout)["otherData"]["ranks"]], [1])


def check_compare(path):
    for words, lines in ((["--steps", "7:12"], 2), ([], 0)):
        done = run(RANKTRACE, "compare", *words, path, path)
        check(f"compare {words}", (done.returncode, done.stdout.count(b": A PART ONLY: 6 ranks, 5 steady steps")),
              (0, lines))
        both = json.loads(run(RANKTRACE, "compare", "-f", "json", *words, path, path).stdout)
        check(f"compare {words}: is_part", [one["is_part"] for one in both["runs"]], [bool(lines)] * 2)


def main():
    if not HAS_MPI:
        print("this build has no MPI, or mpirun is not installed: children alone are looked at")
    with tempfile.TemporaryDirectory() as name:
        path = simulate(pathlib.Path(name) / "run.rkt", f"ranks={RANKS}", "nodes=3", "steps=20", "clock-offset=5ms",
                        "clock-drift-ppb=10000", "fault = slow-compute rank=2 amount=10ms")
        whole = report(path)
        check_steps(path, whole)
        check_ranks(path, whole)
        check_time(path, whole)
        check_teams(path)
        check_words(path)
        check_step_range(path)
        check_export(path)
        check_compare(path)
        check_spans(pathlib.Path(name))
    end()


main()
