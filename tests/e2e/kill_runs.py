#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in which the job, or its sidecar, is killed by SIGKILL at a random moment.

The job (mark_job.c) keeps its own account of what it wrote, outside of anything of ours. Where the
job was killed, the store must hold every one of these records. Where the sidecar was killed, the job must
end in its own time with its own exit code. No run may outlast its deadline. Without mpirun each run is
alone; with it, two ranks are run and rank 1 is the one that is hit: mpirun's own exit code may then be 1.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import mpi_run


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD", help="the build folder")
    parser.add_argument("runs", metavar="RUNS", type=int, nargs="?", default=4, help="of each kind (default %(default)s)")
    parser.add_argument("seed", metavar="SEED", type=int, nargs="?", default=random.randrange(1 << 32),
                        help="of the delays (default: another each time, and printed)")
    return parser.parse_args()


ARGUMENTS = parse_arguments()
BUILD = os.path.abspath(ARGUMENTS.build)
RUNS = ARGUMENTS.runs
SEED = ARGUMENTS.seed
THREADS = 8
RATE = 20000
JOB_MS = 1200
JOB_CODE = 23
DEADLINE_S = 60
MARK_JOB = BUILD + "/tests/mark_job"


class Run:
    """One run with a victim that can be found and killed."""

    def __init__(self, folder, with_mpi):
        self.folder = folder
        self.with_mpi = with_mpi
        self.account = folder + "/account"
        self.codes = folder + "/codes"
        self.victim_rank = 1 if with_mpi else 0
        job = (f'"{MARK_JOB}" threads {THREADS} rate {RATE} ms {JOB_MS} '
               f'account "{self.account}.${{RANK:-0}}" exit {JOB_CODE}; code=$?; '
               f'echo "$code" >"{self.codes}.${{RANK:-0}}"; exit $code')
        command = [BUILD + "/bin/ranktrace", "run", "--no-report", "--on-failure", "wait", "-o",
                   folder + "/out", "--", "sh", "-c", job]
        if with_mpi:
            command = mpi_run.mpirun(2) + command
        self.stderr = open(folder + "/stderr", "w+")
        self.start = time.monotonic()
        self.process = subprocess.Popen(command, stderr=self.stderr, stdout=self.stderr,
                                        start_new_session=True)

    def find(self, name):
        """The victim rank's process of that name; None when the run is over before."""
        while self.process.poll() is None and time.monotonic() - self.start < DEADLINE_S:
            pid = mpi_run.by_rank(self.process.pid, name).get(self.victim_rank)
            if pid:
                return pid
            time.sleep(0.005)
        return None

    def marks(self):
        """What the victim's threads wrote, by their own account."""
        return mpi_run.marks_of(f"{self.account}.{self.victim_rank}")

    def wait(self):
        """The exit code; None for a hang, which is then ended."""
        try:
            return self.process.wait(max(1, DEADLINE_S - (time.monotonic() - self.start)))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return None

    def text(self):
        self.stderr.seek(0)
        return self.stderr.read()

    def stored(self):
        """Marks and losses of the victim's rank in the store."""
        summary = subprocess.run([BUILD + "/tests/store_summary", self.folder + "/out/timeline.rkt"],
                                 capture_output=True, text=True).stdout
        for line in summary.splitlines():
            found = re.search(rf"role=rank rank={self.victim_rank} .* marks=(\d+) lost=(\d+)", line)
            if found:
                return int(found[1]), int(found[2])
        return None

    def victim_code(self):
        path = f"{self.codes}.{self.victim_rank}"
        return int(open(path).read()) if os.path.exists(path) else None


def kill_job(run, delay):
    """Kill once it marks, `delay` later. What went wrong, or None."""
    pid = run.find("mark_job")
    while pid and run.marks() == 0 and run.process.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    if pid is None:
        return "the job was never seen"
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return "the job had ended before"
    code = run.wait()
    wrote, stored = run.marks(), run.stored()
    if code is None:
        return "hang"
    if stored is None:
        return "the rank is not in the store"
    if stored[1] != 0 or not wrote <= stored[0] <= wrote + THREADS:
        return f"{wrote} marks were written, {stored[0]} are stored, {stored[1]} lost"
    if run.victim_code() != 128 + signal.SIGKILL:
        return f"the job's code is {run.victim_code()}"
    return None


def kill_sidecar(run, delay):
    pid = run.find(mpi_run.SIDECAR)
    time.sleep(delay)
    if pid is None:
        return "the sidecar was never seen"
    os.kill(pid, signal.SIGKILL)
    code = run.wait()
    if code is None:
        return "hang"
    if run.victim_code() != JOB_CODE:
        return f"the job's code is {run.victim_code()}"
    if code != JOB_CODE and not (run.with_mpi and code == 1):
        return f"the run's code is {code}"
    expected = RATE * JOB_MS // 1000
    if run.marks() != expected:
        return f"the job made {run.marks()} marks, not {expected}"
    return None


def main():
    rng = random.Random(SEED)
    kinds = [("job", kill_job), ("sidecar", kill_sidecar)]
    ways = [False, True] if mpi_run.has_mpi(BUILD) else [False]
    has_failed = False
    print(f"seed {SEED}, {RUNS} runs of each kind, {'with and ' if True in ways else ''}without mpirun",
          flush=True)
    mpi_run.clean_environment()
    for victim, kill in kinds:
        hangs = failures = 0
        slowest = 0.0
        for i in range(RUNS):
            delay = rng.uniform(0, JOB_MS / 1000 * 0.8)
            with tempfile.TemporaryDirectory() as folder:
                run = Run(folder, ways[i % len(ways)])
                problem = kill(run, delay)
                if run.process.poll() is None:
                    run.wait()
                slowest = max(slowest, time.monotonic() - run.start)
                hangs += problem == "hang"
                if problem:
                    failures += 1
                    print(f"FAILED: {victim} killed after {delay:.3f} s, run {i}, "
                          f"mpi={run.with_mpi}: {problem}\n{run.text()}")
        print(f"victim={victim} runs={RUNS} hangs={hangs} failures={failures} slowest_s={slowest:.1f}",
              flush=True)
        has_failed |= failures > 0
    return has_failed


sys.exit(main())
