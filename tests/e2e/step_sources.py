#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank whose step marks are lost does not spoil the steps of the others.

    step_sources.py BUILD_FOLDER

Of a simulated job the frame with the marks of one rank is taken out, as where a timeline was cut before it. That rank has the
repeats of its collectives for steps; it is set apart and named, and the others keep the numbers that they had.
"""
import json
import pathlib
import sys
import tempfile

import store_frames
from reports import RANKTRACE, check, end, run, simulate

RANKS, STEPS = 4, 20


def report(path, form="json"):
    done = run(RANKTRACE, "report", "-f", form, path)
    check(f"{path}: the report", (done.returncode, done.stderr), (0, b""))
    return json.loads(done.stdout) if form == "json" else " ".join(done.stdout.decode().split())


def without_marks(path, out, rank):
    """Writes `out`: one frame less, that without which the rank's steps are no longer from marks."""
    frames = store_frames.read(path)
    whole = report(path)
    lost = [i for i, frame in enumerate(frames)
            if store_frames.kind(frame) in store_frames.BATCHES]
    for i in lost:
        out.write_bytes(b"".join(frames[:i] + frames[i + 1:]))
        sources = [r["step_source"] for r in report(out)["ranks"]]
        if sources == ["collectives" if r["rank"] == rank else "marks" for r in whole["ranks"]]:
            return report(out)
    sys.exit(f"none of {len(lost)} frames holds the marks of rank {rank}")


def steady(rank):
    return [(step["number"], step["window"]["window_ns"]) for step in rank["steps"] if not step["is_warmup"]]


def check_rank(folder, whole, path, rank):
    part = without_marks(path, folder / "part.rkt", rank)
    others = [r for r in range(RANKS) if r != rank]
    check(f"rank {rank}: apart", [r["is_set_apart"] for r in part["ranks"]], [r == rank for r in range(RANKS)])
    check(f"rank {rank}: steps of its own", len(part["ranks"][rank]["steps"]) > STEPS, True)
    for r in others:
        check(f"rank {r}, without {rank}", steady(part["ranks"][r]), steady(whole["ranks"][r]))
    check(f"without {rank}: warm-up", part["replay"]["steps"] and len(part["replay"]["steps"]) >= STEPS // 2, True)
    named = [note["text"] for note in part["notes"] if note["text"].startswith(f"rank {rank}: steps from collectives, "
                                                                                "those of the others from marks")]
    check(f"without {rank}: notes", len(named), 1)
    text = report(folder / "part.rkt", "text")
    check(f"without {rank}: the steps' line", f"steps: {STEPS}, from marks" in text, True)
    check(f"without {rank}: its row", "its steps are other ones: not in the sum" in text, True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = simulate(folder / "whole.rkt", f"ranks={RANKS}", f"steps={STEPS}")
        whole = report(path)
        check("the whole: sources", {rank["step_source"] for rank in whole["ranks"]}, {"marks"})
        check("the whole: nobody is apart", [rank["is_set_apart"] for rank in whole["ranks"]], [False] * RANKS)
        for rank in (0, RANKS - 1):
            check_rank(folder, whole, path, rank)
    end()


if __name__ == "__main__":
    main()
