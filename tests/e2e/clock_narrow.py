#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranktrace align on a run in which nobody measured clocks for minutes: collectives narrow the bounds there, the same to the
last bit each time; where a rank's stamps contradict them, nothing is narrowed."""
import pathlib
import subprocess
import sys
import tempfile

from simulated_job import SimulatedJob

# Four nodes of two ranks, four minutes, of which nobody measures for more than three.
JOB = ["ranks=8", "nodes=4", "steps=200", "forward-kernels=4", "backward-kernels=8", "optimizer-kernels=1", "kernel=100ms",
       "bucket-bytes=1KiB", "collective=15us", "clock-offset=5ms", "clock-drift-ppb=20000"]
CONTRADICTED = "collectives and measurements contradict each other"


def align(job, *options):
    done = subprocess.run([job.ranktrace, "align", *options, job.timeline], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def store_aligned(job):
    """The timeline is the aligned one from here on."""
    aligned = job.timeline.with_suffix(".aligned")
    said = align(job, "-f", "-o", aligned)
    aligned.replace(job.timeline)
    return said


def check_narrowed(job, seed):
    job.simulate([*JOB, "unmeasured=200s", f"seed={seed}"])
    before = job.report()["ranks"]
    said = store_aligned(job).splitlines()
    report = job.report()
    for was, rank, line in zip(before, report["ranks"], said):
        is_measured = rank["align_state"] == "measured"
        assert is_measured == (rank["rank"] > 1) and rank["is_narrowed"] == is_measured and not was["is_narrowed"], rank
        assert not is_measured or rank["bound_ns"] < 0.97 * was["bound_ns"], (seed, was["bound_ns"], rank["bound_ns"])
        assert ("which collectives narrow to" in line) == is_measured, line
    assert report["clock"]["check"]["likely"]["count"] == report["clock"]["check"]["proven"]["count"] == 0, report["clock"]
    assert CONTRADICTED not in "\n".join(said), said
    again = align(job)
    assert again.count("(as stored)") == 8, again
    for command, text in (("report", "; 6 ranks narrowed by collectives"), ("info", "measured, narrowed +- ")):
        page = subprocess.run([job.ranktrace, command, job.timeline], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert text in page, page
    widest = [max(rank["bound_ns"] for rank in ranks) / 1000 for ranks in (before, report["ranks"])]
    print(f"seed {seed}: bounds of up to {widest[0]:.1f} us are narrowed to {widest[1]:.1f}")


def check_kept(job, settings, faults, is_contradicted):
    job.simulate([*JOB, *settings], faults)
    before = job.report()["ranks"]
    said = store_aligned(job)
    after = job.report()["ranks"]
    assert (CONTRADICTED in said) == is_contradicted, said
    assert not any(rank["is_narrowed"] for rank in after), said
    assert [rank["bound_ns"] for rank in before] == [rank["bound_ns"] for rank in after], said


def main():
    with tempfile.TemporaryDirectory() as name:
        job = SimulatedJob(pathlib.Path(sys.argv[1]) / "bin" / "ranktrace", pathlib.Path(name))
        for seed in range(1, 4):
            check_narrowed(job, seed)
        check_kept(job, [], [], False)
        check_kept(job, ["unmeasured=200s"], ["clock-ahead rank=5 amount=1ms"], True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
