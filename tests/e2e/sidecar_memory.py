#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sidecars hold when all is full, against the formula of common/doc/architecture.md.

    sidecar_memory.py BUILD

Three ranks push records as fast as they are taken (ring_job.c) while rank 0's sidecar stands still, until memory
and spool of the other two are full; then it goes on. What a run that records nothing takes (Open MPI above all)
is measured in the same way and added to the formula. The peak must be within the formula, and the formula within
twice the peak. Exit code 77: this build has no MPI, or a sanitizer.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import mpi_run

KIB, MIB = 1024, 1 << 20
RANKS = 3
THREADS = 4
RING_COUNT, RING_CAPACITY = 64, 4096
QUEUE_BYTES, SPOOL_BYTES = 4 * MIB, 2 * MIB
LIMIT_S = 120
AFTER_S = 3

# The kinds of the job's records, and losses; each has a batch of its own.
BATCHES = 3
FRAME_BYTES = 64 * KIB  # of 4,096 records, at most


def process_bytes():
    return (RING_COUNT * 4 * KIB + THREADS * (320 + RING_CAPACITY * 64) + BATCHES * 4096 * 64 + MIB)


def sidecar_bytes():
    return process_bytes() + QUEUE_BYTES + 8 * FRAME_BYTES + FRAME_BYTES + SPOOL_BYTES // KIB * 8


def rank_0_bytes():
    return process_bytes() + 8 * FRAME_BYTES + 2 * MIB + (RANKS * 8 + 1) * FRAME_BYTES


class Run:
    def __init__(self, build, folder, job):
        self.folder = folder
        os.environ.update(RANKTRACE_RING_COUNT=str(RING_COUNT), RANKTRACE_RING_CAPACITY=str(RING_CAPACITY),
                          RANKTRACE_QUEUE_BYTES=f"{QUEUE_BYTES}B", RANKTRACE_SPOOL=f"{SPOOL_BYTES}B",
                          RANKTRACE_SPOOL_DIR=folder)
        self.process = subprocess.Popen(
            mpi_run.mpirun(RANKS) + [build + "/bin/ranktrace", "run", "--no-report", "-o", folder + "/out", "--",
                                     build + "/tests/ring_job", *job],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def wait_until(self, is_so, what):
        limit = time.monotonic() + LIMIT_S
        while not is_so():
            if self.process.poll() is not None or time.monotonic() > limit:
                sys.exit(f"FAILED: {what}: never in {LIMIT_S} s, or the run ended before")
            time.sleep(0.02)

    def find(self):
        """{rank: process id} of the sidecars, once each has a job."""
        jobs = lambda: mpi_run.by_rank(self.process.pid, "ring_job")
        self.wait_until(lambda: len(jobs()) == RANKS, "three jobs")
        return mpi_run.by_rank(self.process.pid, mpi_run.SIDECAR)

    def spools(self):
        sizes = [os.path.getsize(f"{self.folder}/{name}") for name in os.listdir(self.folder) if name.endswith("-b.rkt")]
        return sizes if len(sizes) == RANKS - 1 else [0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


def peak_bytes(pid):
    """The most that it ever held, but for pages of files."""
    status = f"/proc/{pid}/status"
    return (mpi_run.number_of(status, "VmHWM") - mpi_run.number_of(status, "RssFile")) * KIB


def idle(build):
    """Of rank 0's sidecar and of another in a run that records nothing."""
    with tempfile.TemporaryDirectory() as folder, Run(build, folder, ["silent", "sleep-ms", "600000"]) as run:
        sidecars = run.find()
        time.sleep(2)  # for the first bursts of clocks
        return peak_bytes(sidecars[0]), peak_bytes(sidecars[1])


def full(build):
    with tempfile.TemporaryDirectory() as folder, \
            Run(build, folder, ["threads", str(THREADS), "events", "1000000000"]) as run:
        sidecars = run.find()
        run.wait_until(lambda: all(mpi_run.number_of(f"/proc/{pid}/status", "RssShmem") > THREADS * RING_CAPACITY * 64 / KIB
                                   for pid in sidecars.values()), "records in every ring")
        os.kill(sidecars[0], signal.SIGSTOP)
        run.wait_until(lambda: min(run.spools()) > SPOOL_BYTES * 0.85, "full spools")
        os.kill(sidecars[0], signal.SIGCONT)
        time.sleep(AFTER_S)
        return peak_bytes(sidecars[0]), max(peak_bytes(sidecars[rank]) for rank in range(1, RANKS))


def main():
    build = os.path.abspath(sys.argv[1])
    if not mpi_run.has_mpi(build):
        print("this build has no MPI, or mpirun is not installed")
        return mpi_run.SKIP
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        if any(re.fullmatch(r"RKT_SANITIZE:STRING=.+", line.strip()) for line in cache):
            print("memory is not measured where it is the sanitizer's own")
            return mpi_run.SKIP
    mpi_run.clean_environment()
    has_failed = False
    for who, formula, base, peak in zip(("rank 0", "another rank"), (rank_0_bytes(), sidecar_bytes()), idle(build), full(build)):
        bound = base + formula
        passed = peak <= bound <= 2 * peak
        print(f'memory of="sidecar of {who}" idle_kib={base // KIB} peak_kib={peak // KIB} formula_kib={bound // KIB} '
              f"passed={'yes' if passed else 'no'}")
        has_failed |= not passed
    return has_failed


sys.exit(main())
