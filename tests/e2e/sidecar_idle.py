#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sidecars that have nothing to do sleep: CPU time, which a busy machine does not change much, is what counts.

    sidecar_idle.py BUILD

    idle          jobs that record nothing, after the first clock bursts
    rank 0 still  records wait for a rank 0 whose sidecar is stopped, once it is silent (10 s); not before the file
                  has some of each rank: in MPI_Init the others wait for it as Open MPI does, ten times a ms
    rank 0 dead   the same, where it was killed

In each, over some seconds, a sidecar takes at most LIMIT_MS_PER_S of CPU time and goes to sleep by itself
(voluntary context switches) some times a second and not much more often than its pace says: neither a blocking
call nor a busy loop. Its supervisor takes next to nothing. Exit code 77: this build has no MPI.
"""
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import mpi_run

RANKS = 3
LIMIT_MS_PER_S = 20
SUPERVISOR_LIMIT_MS_PER_S = 1
LEAST_SLEEPS_PER_S = 5
MOST_SLEEPS_PER_S = 100  # twice what its pace says (pace.h: 20 ms)
SETTLE_S = 3
SILENT_S = 13
WATCH_S = 5
LIMIT_S = 60


def cpu_ns(pid):
    """Of all threads: Open MPI has some of its own."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        total += int(mpi_run.read_text(f"/proc/{pid}/task/{thread}/schedstat").split()[0])
    return total


def reading(pid):
    return time.monotonic(), cpu_ns(pid), mpi_run.number_of(f"/proc/{pid}/status", "voluntary_ctxt_switches")


class Watch:
    def __init__(self, build):
        self.build = build
        self.has_failed = False

    def start(self, folder, job):
        process = subprocess.Popen(
            mpi_run.mpirun(RANKS) + [self.build + "/bin/ranktrace", "run", "--no-report", "-o", folder + "/out", "--",
                                     self.build + "/tests/" + job[0], *job[1:]],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        limit = time.monotonic() + LIMIT_S
        while len(mpi_run.by_rank(process.pid, job[0])) < RANKS:
            if process.poll() is not None or time.monotonic() > limit:
                sys.exit("FAILED: the jobs did not start")
            time.sleep(0.02)
        return process

    def wait_for_records(self, folder):
        """Until the file has some of each rank."""
        limit = time.monotonic() + LIMIT_S
        while True:
            said = subprocess.run([self.build + "/bin/ranktrace", "info", "--format", "json", folder + "/out"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
            sources = json.loads(said)["sources"] if said else []
            if len({s["rank"] for s in sources if s["role"] == "rank" and s["event_count"] > 0}) == RANKS:
                return
            if time.monotonic() > limit:
                sys.exit(f"FAILED: the file has no records of some ranks: {sources}")
            time.sleep(0.1)

    def check(self, what, pids, limit_ms, most_sleeps=None):
        before = {pid: reading(pid) for pid in pids.values()}
        time.sleep(WATCH_S)
        for rank, pid in sorted(pids.items()):
            (t0, cpu0, sleeps0), (t1, cpu1, sleeps1) = before[pid], reading(pid)
            ms = (cpu1 - cpu0) / 1e6 / (t1 - t0)
            sleeps = (sleeps1 - sleeps0) / (t1 - t0)
            passed = ms <= limit_ms and (most_sleeps is None or LEAST_SLEEPS_PER_S <= sleeps <= most_sleeps)
            print(f'idle state="{what}" rank={rank} cpu_ms_per_s={ms:.2f} sleeps_per_s={sleeps:.0f} '
                  f"passed={'yes' if passed else 'no'}", flush=True)
            self.has_failed |= not passed

    def idle(self):
        with tempfile.TemporaryDirectory() as folder:
            process = self.start(folder, ["ring_job", "silent", "sleep-ms", "600000"])
            time.sleep(SETTLE_S)
            self.check("idle", mpi_run.by_rank(process.pid, mpi_run.SIDECAR), LIMIT_MS_PER_S, MOST_SLEEPS_PER_S)
            self.check("idle supervisor", mpi_run.by_rank(process.pid, mpi_run.SUPERVISOR), SUPERVISOR_LIMIT_MS_PER_S)
            self.end(process)

    def without_rank_0(self, what, number):
        """Its own sidecar's number is in `number`; the others have records that wait for it."""
        with tempfile.TemporaryDirectory() as folder:
            process = self.start(folder, ["mark_job", "threads", "1", "rate", "100", "ms", "600000"])
            self.wait_for_records(folder)
            sidecars = mpi_run.by_rank(process.pid, mpi_run.SIDECAR)
            os.kill(sidecars[0], number)
            time.sleep(SILENT_S)
            others = {rank: pid for rank, pid in sidecars.items() if rank != 0}
            self.check(what, others, LIMIT_MS_PER_S, MOST_SLEEPS_PER_S)
            self.end(process)

    def end(self, process):
        for pid, _ in mpi_run.descendants(process.pid):
            mpi_run.kill(pid, signal.SIGCONT)
        process.terminate()
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def main():
    build = os.path.abspath(sys.argv[1])
    if not mpi_run.has_mpi(build):
        print("this build has no MPI, or mpirun is not installed")
        return mpi_run.SKIP
    mpi_run.clean_environment()
    watch = Watch(build)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(watch.idle), pool.submit(watch.without_rank_0, "rank 0 still", signal.SIGSTOP),
                     pool.submit(watch.without_rank_0, "rank 0 dead", signal.SIGKILL)]:
            done.result()
    return watch.has_failed


sys.exit(main())
