#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives against clocks: a rank whose stamps are off by less than the guaranteed bounds is likely off, by more it is
proven; it is named, and by how much it is off is inside the limits that the report gives."""
import pathlib
import subprocess
import sys
import tempfile

from simulated_job import SimulatedJob

RANK = 5
# One rank on each node, AllReduces of 15 us: that is the shortest time between the last start and the first end.
JOB = ["ranks=8", "steps=15", "bucket-bytes=1KiB", "collective=15us", "clock-offset=5ms", "clock-drift-ppb=20000"]


def notes(report, level):
    return [note["text"] for note in report["notes"] if note["level"] == level]


def check_off(job, nodes, seed, off_us, is_proven):
    job.simulate([*JOB, f"nodes={nodes}", f"seed={seed}"],
                 [f"clock-{'ahead' if off_us > 0 else 'behind'} rank={RANK} amount={abs(off_us)}us"])
    report = job.report()
    check = report["clock"]["check"]
    what = f"seed {seed}, {nodes} nodes, {off_us} us: {check}"
    assert check["checked_count"] == check["judged_count"] == 60, what
    assert check["likely"]["rank"] == RANK and check["likely"]["count"] >= check["likely"]["rank_count"] > 0, what
    assert check["ahead_low_ns"] <= off_us * 1000 <= check["ahead_high_ns"], what
    assert (check["ahead_low_ns"] > 0) == (off_us > 0) and (check["ahead_high_ns"] < 0) == (off_us < 0), what
    assert check["proven"]["rank"] == (RANK if is_proven else None), what
    assert (check["proven"]["count"] > 0) == is_proven and check["floor_ns"] is None, what
    assert [f"rank {RANK} is suspect" in text for text in notes(report, "error")] == [True] * is_proven, report["notes"]
    said = [text for text in notes(report, "warning") if f"most often that of rank {RANK} " in text]
    assert len(said) == 1 and f", likely {'ahead' if off_us > 0 else 'behind'} by " in said[0], report["notes"]


def check_right(job, seed):
    job.simulate([*JOB, "nodes=8", f"seed={seed}"])
    report = job.report()
    check = report["clock"]["check"]
    assert check["likely"]["count"] == check["proven"]["count"] == 0 and check["judged_count"] == 60, check
    assert check["likely"]["rank"] is None and check["ahead_low_ns"] is None and check["ahead_high_ns"] is None, check
    likely_ns = sorted(rank["likely_ns"] for rank in report["ranks"])
    assert 13_000 < check["floor_ns"] <= 15_000 + likely_ns[-1] + likely_ns[-2], (check, likely_ns)
    assert not notes(report, "error"), report["notes"]
    page = subprocess.run([job.ranktrace, "report", job.timeline], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "clocks: none of 60 collectives contradicts them; an error below " in page, page


def main():
    with tempfile.TemporaryDirectory() as name:
        job = SimulatedJob(pathlib.Path(sys.argv[1]) / "bin" / "ranktrace", pathlib.Path(name))
        for seed in range(1, 4):
            check_right(job, seed)
            check_off(job, 8, seed, 20, False)
            check_off(job, 8, seed, -20, False)
            check_off(job, 8, seed, 80, True)
        # Its node's other rank, on the same clock, stays as it is.
        check_off(job, 4, 1, 20, False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
