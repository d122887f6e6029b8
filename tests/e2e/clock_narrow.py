#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run in which nobody measured clocks for minutes: collectives narrow the bounds there, in a report by itself and in a timeline
by ranktrace align, which then gives the same report, to the last bit each time; where a rank's stamps contradict them,
nothing is narrowed."""
import json
import pathlib
import subprocess
import sys
import tempfile

from simulated_job import SimulatedJob

# Four nodes of two ranks, four minutes, of which nobody measures for more than three.
JOB = ["ranks=8", "nodes=4", "steps=200", "forward-kernels=4", "backward-kernels=8", "optimizer-kernels=1", "kernel=100ms",
       "bucket-bytes=1KiB", "collective=15us", "clock-offset=5ms", "clock-drift-ppb=20000"]
CONTRADICTED = "collectives and measurements contradict each other"
CONTRADICT = "collectives and the measurements of clocks contradict each other"
NARROWED = "which collectives narrow to"
NOTHING = {"rank_count": 0, "before_ns": None, "after_ns": None, "is_contradicted": False}


def align(job, *options):
    done = subprocess.run([job.ranktrace, "align", *options, job.timeline], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def store_aligned(job):
    """The timeline is the aligned one from here on."""
    aligned = job.timeline.with_suffix(".aligned")
    said = align(job, "-f", "-o", aligned)
    aligned.replace(job.timeline)
    return said


def printed(job, *command):
    return subprocess.run([job.ranktrace, *command, job.timeline], check=True, stdout=subprocess.PIPE, text=True).stdout


def pop_narrowing(report):
    """What a report narrowed itself; it is not in the report any more."""
    report["notes"] = [note for note in report["notes"] if NARROWED not in note["text"]]
    return report["clock"].pop("narrowing")


def check_report(job, seed):
    """The report, of a timeline that stays as it was."""
    bits = job.timeline.read_bytes()
    report = job.report()
    page = printed(job, "report")
    assert NARROWED in " ".join(page.split()) and "; 6 ranks narrowed by collectives" in page, page
    for jobs in "1", "3":
        assert json.loads(printed(job, "report", "--format", "json", "--jobs", jobs)) == report, jobs
    assert job.timeline.read_bytes() == bits
    assert any(NARROWED in note["text"] for note in report["notes"]), report["notes"]
    narrowing = pop_narrowing(report)
    assert narrowing["rank_count"] == 6 and not narrowing["is_contradicted"], narrowing
    assert narrowing["after_ns"] < 0.97 * narrowing["before_ns"], (seed, narrowing)
    widest_ns = max(rank["bound_ns"] for rank in report["ranks"])
    assert widest_ns < 0.97 * narrowing["before_ns"], (seed, widest_ns, narrowing)
    print(f"seed {seed}: bounds of up to {narrowing['before_ns'] / 1000:.1f} us are narrowed to {widest_ns / 1000:.1f}")
    return report


def check_narrowed(job, seed):
    job.simulate([*JOB, "unmeasured=200s", f"seed={seed}"])
    report = check_report(job, seed)
    said = store_aligned(job).splitlines()
    stored = job.report()
    assert pop_narrowing(stored) == NOTHING, stored["clock"]
    assert stored == report, f"seed {seed}: another report of the aligned timeline"
    for rank, line in zip(report["ranks"], said):
        is_measured = rank["align_state"] == "measured"
        assert is_measured == (rank["rank"] > 1) and rank["is_narrowed"] == is_measured, rank
        assert ("which collectives narrow to" in line) == is_measured, line
    assert report["clock"]["check"]["likely"]["count"] == report["clock"]["check"]["proven"]["count"] == 0, report["clock"]
    assert CONTRADICTED not in "\n".join(said), said
    again = align(job)
    assert again.count("(as stored)") == 8, again
    page = printed(job, "info")
    assert "measured, narrowed +- " in page, page


def check_kept(job, settings, faults, is_contradicted):
    job.simulate([*JOB, *settings], faults)
    before = job.report()
    said = store_aligned(job)
    after = job.report()
    assert (CONTRADICTED in said) == is_contradicted, said
    assert any(CONTRADICT in note["text"] for note in before["notes"]) == is_contradicted, before["notes"]
    assert before["clock"]["narrowing"] == {**NOTHING, "is_contradicted": is_contradicted}, before["clock"]
    assert not any(rank["is_narrowed"] for rank in after["ranks"]), said
    assert before == after, said


def check_cut(job):
    """A run that was cut has no alignments: what a reader makes of its records is narrowed, too."""
    job.simulate([*JOB, "unmeasured=200s", "seed=1"])
    whole = job.report()["clock"]
    bits = job.timeline.read_bytes()
    job.timeline.write_bytes(bits[: len(bits) - len(bits) // 8])
    cut = job.report()["clock"]
    assert cut["states"] == whole["states"] and cut["narrowing"]["rank_count"] == 6, (cut, whole)


def main():
    with tempfile.TemporaryDirectory() as name:
        job = SimulatedJob(pathlib.Path(sys.argv[1]) / "bin" / "ranktrace", pathlib.Path(name))
        for seed in range(1, 4):
            check_narrowed(job, seed)
        check_kept(job, [], [], False)
        check_kept(job, ["unmeasured=200s"], ["clock-ahead rank=5 amount=1ms"], True)
        check_cut(job)
    return 0


if __name__ == "__main__":
    sys.exit(main())
