#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four ranks that record for long: memory stays flat, the file grows with the records and no faster.

    soak.py BUILD [--seconds S | --minutes M] [--rate N]

Each rank (mark_job.c) makes N marks a second by two threads, under mpirun. Every second, what each sidecar
holds is read (but for pages of files, which are those of libraries), and what it and its supervisor took of a
core. After a warm-up, in which each ring is gone through:

    memory   of each sidecar, rank 0's with the aggregator in it, is within 5 % of its median (in runs of less
             than five minutes 512 KiB more, for buffers of a batch that are touched late)
    file     bytes per mark of the second half are within 10 % of those of the first (30 % in short runs, where
             frames are few)
    marks    each one that a job counted is in the file at the end, none is counted as lost

CPU shares are printed, one logfmt line per process; `--target bench` has a limit for them.
Exit code 77: this build has no MPI.
"""
import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import mpi_run

RANKS = 4
THREADS = 2
FLAT = 0.05
LATE_KIB = 512
LONG_S = 300
LINEAR = 0.10
LINEAR_SHORT = 0.30
WARM_UP_MAX_S = 120
END_LIMIT_S = 180


class Soak:
    def __init__(self, build, folder, seconds, rate):
        self.build, self.folder, self.rate = build, folder, rate
        self.seconds = seconds
        self.warm_up_s = min(seconds * 0.4, WARM_UP_MAX_S)
        # Small enough for the warm-up to go through it: a page once touched stays.
        self.capacity = 64
        while self.capacity < 16384 and self.capacity * 2 < rate / THREADS * self.warm_up_s / 2:
            self.capacity *= 2
        self.samples = {}  # process id: [(time, kB)]
        self.cpu_first = {}
        self.cpu_last = {}
        self.growth = []  # (marks, bytes of the file)
        self.failures = []

    def start(self):
        job = f'exec "{self.build}/tests/mark_job" threads {THREADS} rate {self.rate} ' \
              f'ms {int(self.seconds * 1000)} account "{self.folder}/account.$RANK"'
        os.environ["RANKTRACE_RING_CAPACITY"] = str(self.capacity)
        self.stderr = open(self.folder + "/stderr", "w+")
        self.process = subprocess.Popen(
            mpi_run.mpirun(RANKS) + [self.build + "/bin/ranktrace", "run", "--no-report", "-o",
                                     self.folder + "/out", "--", "sh", "-c", job],
            stdout=self.stderr, stderr=self.stderr, start_new_session=True)

    def marks(self, rank):
        return mpi_run.marks_of(f"{self.folder}/account.{rank}")

    def wait_until_all_mark(self):
        limit = time.monotonic() + END_LIMIT_S
        while not all(self.marks(rank) for rank in range(RANKS)):
            if self.process.poll() is not None or time.monotonic() > limit:
                sys.exit("the jobs did not start\n" + mpi_run.read_text(self.folder + "/stderr"))
            time.sleep(0.05)

    def find(self):
        self.sidecars = mpi_run.by_rank(self.process.pid, mpi_run.SIDECAR)
        self.named = {pid: f"sidecar of rank {rank}" for rank, pid in self.sidecars.items()}
        for rank, pid in mpi_run.by_rank(self.process.pid, mpi_run.SUPERVISOR).items():
            self.named[pid] = f"supervisor of rank {rank}"
        if len(self.sidecars) != RANKS:
            sys.exit(f"{len(self.sidecars)} sidecars were found")

    def sample(self, now):
        for pid in self.sidecars.values():
            kb = mpi_run.own_kb(pid)
            if kb is not None:
                self.samples.setdefault(pid, []).append((now, kb))
        for pid in self.named:
            cpu = mpi_run.cpu_seconds(pid)
            if cpu is not None:
                self.cpu_first.setdefault(pid, (now, cpu))
                self.cpu_last[pid] = (now, cpu)
        try:
            size = os.path.getsize(self.folder + "/out/timeline.rkt")
        except OSError:
            return
        self.growth.append((sum(self.marks(rank) for rank in range(RANKS)), size))

    def watch(self):
        """A sample a second; nothing is taken in the last ones, when processes may be about to end."""
        begin = time.monotonic()
        next_s = self.warm_up_s
        while next_s < self.seconds - 2:
            time.sleep(max(0, begin + next_s - time.monotonic()))
            if self.process.poll() is not None:
                break
            self.sample(time.monotonic() - begin)
            next_s = max(next_s + 1, time.monotonic() - begin)

    def end(self):
        try:
            code = self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            code = "a hang"
        self.check(code == 0, f"mpirun returned {code}\n" + mpi_run.read_text(self.folder + "/stderr"))

    def check(self, passed, text):
        if not passed:
            self.failures.append(text)

    def check_memory(self):
        for pid, samples in self.samples.items():
            sizes = [kb for _, kb in samples]
            median = statistics.median(sizes)
            away = max(max(sizes) - median, median - min(sizes)) / median
            (t0, cpu0), (t1, cpu1) = self.cpu_first[pid], self.cpu_last[pid]
            print(f'soak of="{self.named[pid]}" samples={len(sizes)} first_kib={sizes[0]} last_kib={sizes[-1]} '
                  f"min_kib={min(sizes)} median_kib={median:.0f} max_kib={max(sizes)} away_percent={100 * away:.2f} "
                  f"cpu_percent={100 * (cpu1 - cpu0) / max(t1 - t0, 1e-9):.2f}")
            allowed = FLAT + (LATE_KIB / median if self.seconds < LONG_S else 0)
            self.check(away <= allowed, f"memory of the {self.named[pid]} is {100 * away:.1f} % away from its median")
        for pid in set(self.named) - set(self.samples):
            (t0, cpu0), (t1, cpu1) = self.cpu_first[pid], self.cpu_last[pid]
            print(f'soak of="{self.named[pid]}" cpu_percent={100 * (cpu1 - cpu0) / max(t1 - t0, 1e-9):.2f}')

    def check_growth(self):
        first, middle, last = self.growth[0], self.growth[len(self.growth) // 2], self.growth[-1]
        early = (middle[1] - first[1]) / (middle[0] - first[0])
        late = (last[1] - middle[1]) / (last[0] - middle[0])
        print(f"soak of=file bytes={last[1]} marks={last[0]} bytes_per_mark_first_half={early:.3f} "
              f"bytes_per_mark_second_half={late:.3f}")
        allowed = LINEAR_SHORT if self.seconds < LONG_S else LINEAR
        self.check(abs(late / early - 1) <= allowed, f"{early:.3f} B per mark, later {late:.3f}")

    def check_store(self):
        out = subprocess.run([self.build + "/tests/store_summary", self.folder + "/out/timeline.rkt"],
                             capture_output=True, text=True).stdout
        self.check(" trailer=1 damaged=0 gaps=0 " in out, "the file is not whole: " + out)
        for rank in range(RANKS):
            found = re.search(rf"role=rank rank={rank} .* marks=(\d+) lost=(\d+)", out)
            stored = (int(found[1]), int(found[2])) if found else None
            print(f"soak of=rank rank={rank} marks={self.marks(rank)} stored={stored and stored[0]} "
                  f"lost={stored and stored[1]}")
            self.check(stored == (self.marks(rank), 0), f"rank {rank}: {self.marks(rank)} marks, stored and lost: {stored}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--rate", type=int, default=2500)
    args = parser.parse_args()
    if not mpi_run.has_mpi(args.build):
        print("this build has no MPI, or mpirun is not installed")
        return mpi_run.SKIP
    mpi_run.clean_environment()
    seconds = args.minutes * 60 if args.minutes else args.seconds
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(os.path.abspath(args.build), folder, seconds, args.rate)
        print(f"soak ranks={RANKS} rate={args.rate} seconds={seconds:.0f} warm_up_s={soak.warm_up_s:.0f} "
              f"ring_capacity={soak.capacity}", flush=True)
        soak.start()
        try:
            soak.wait_until_all_mark()
            soak.find()
            soak.watch()
            soak.end()
            soak.check_memory()
            soak.check_growth()
            soak.check_store()
        finally:
            if soak.process.poll() is None:
                os.killpg(soak.process.pid, signal.SIGKILL)
    for failure in soak.failures:
        print("FAILED:", failure)
    return bool(soak.failures)


sys.exit(main())
