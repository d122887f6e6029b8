#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rows of common/doc/faults.md, each as a run under mpirun, and runs that are hit at random moments.

    fault_matrix.py BUILD                       some rows and a few random runs
    fault_matrix.py BUILD --all                 every row, and 200 random runs
    fault_matrix.py BUILD --row NAME            that row alone; --row list: their names
    fault_matrix.py BUILD --runs N [--seed S]   N random runs alone; the same seed hits the same victims

After each run: it ended in time, what rank 0 acknowledged is in its file, records are stored or counted as lost
(fault_run.py), mpirun returned what it should, and nothing is left behind. Exit code 77: no MPI here.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import mpi_run
from fault_run import FaultRun

AT_A_TIME = 2
RUNS = 200
SHORT_RUNS = 6
IN_NAMESPACE = "RKT_TEST_IN_NAMESPACE"
STOP_S = 10

ROWS = {}


def row(name, quick=False):
    def add(function):
        ROWS[name] = (function, quick)
        return function
    return add


@contextlib.contextmanager
def run_of(build, **how):
    with tempfile.TemporaryDirectory(prefix="rkt_fault.") as folder:
        with FaultRun(build, folder, **how) as run:
            yield run


def hit(run, name, rank, number, delay_s=0.5, for_s=0):
    """Once all ranks record, and delay_s later. for_s: so long after SIGSTOP comes SIGCONT."""
    pid = run.find(name, rank)
    run.wait_for(lambda: all(run.marks(one) for one in range(run.ranks)))
    time.sleep(delay_s)
    run.check(pid is not None, f"there is no {name} on rank {rank}")
    if pid is None or not mpi_run.kill(pid, number):
        return
    if number == signal.SIGSTOP:
        time.sleep(for_s)
        mpi_run.kill(pid, signal.SIGCONT)


def finish(run, codes, cut_ranks=(), says="", is_whole=True, reports=(), mpirun_was_killed=False):
    """The end of a run, and what must hold after it."""
    run.wait()
    run.check_code(codes)
    run.check_nothing_is_left(mpirun_was_killed)
    run.check_acknowledged()
    summary = run.summary(run.out + "/timeline.rkt")
    run.check((" trailer=1 " in summary["run"]) == is_whole, "the file: " + summary["run"])
    run.check(" damaged=0 gaps=0 " in summary["run"], "the file: " + summary["run"])
    run.check(says in run.text(), f"nobody says '{says}'")
    report = run.report()
    for text in reports:
        run.check(text in report, f"the report does not say '{text}': {report}")
    run.check_sums(run.recover(), cut_ranks)


# ---- processes that die ----

@row("job-killed", quick=True)
def job_killed(build):
    with run_of(build) as run:
        hit(run, "mark_job", 1, signal.SIGKILL)
        finish(run, {137}, says="the job failed on a rank", reports=["rank 1: it ended without closing capture"])
    return run


@row("sidecar-killed", quick=True)
def sidecar_killed(build):
    with run_of(build) as run:
        hit(run, mpi_run.SIDECAR, 1, signal.SIGKILL)
        finish(run, {0}, cut_ranks=[1], says="the sidecar died: capture is off, the job goes on",
               reports=["rank 1: contact was lost"])
    return run


@row("rank-0-sidecar-killed")
def rank_0_sidecar_killed(build):
    with run_of(build) as run:
        hit(run, mpi_run.SIDECAR, 0, signal.SIGKILL)
        finish(run, {0}, cut_ranks=[0], is_whole=False, says="ranktrace recover",
               reports=["records stop without an end"])
        run.check(len(run.spools()) == run.ranks - 1, f"spools: {run.spools()}")
    return run


@row("supervisor-killed")
def supervisor_killed(build):
    with run_of(build, ms=20000) as run:
        hit(run, mpi_run.SUPERVISOR, 1, signal.SIGKILL)
        finish(run, {137}, reports=["rank 1: it ended without closing capture"])
    return run


@row("rank-0-supervisor-killed", quick=True)
def rank_0_supervisor_killed(build):
    with run_of(build, ms=20000) as run:
        hit(run, mpi_run.SUPERVISOR, 0, signal.SIGKILL)
        finish(run, {137}, says="rank 0 has closed its file", reports=["rank 0: it ended without closing capture"])
    return run


@row("supervisor-terminated")
def supervisor_terminated(build):
    with run_of(build, ms=20000) as run:
        hit(run, mpi_run.SUPERVISOR, 1, signal.SIGTERM)
        finish(run, {143}, says="another rank failed: the job is ended", reports=["rank 1: it ended without closing capture"])
        run.check(run.seconds < 20, f"the others were left alone for {run.seconds:.0f} s")
    return run


@row("mpirun-terminated")
def mpirun_terminated(build):
    with run_of(build, ms=20000) as run:
        run.wait_for(lambda: all(run.marks(rank) for rank in range(run.ranks)))
        time.sleep(0.5)
        run.process.terminate()
        finish(run, {1}, reports=["it ended without closing capture"])
    return run


@row("mpirun-killed")
def mpirun_killed(build):
    with run_of(build) as run:
        run.wait_for(lambda: all(run.marks(rank) for rank in range(run.ranks)))
        time.sleep(0.5)
        run.process.kill()
        run.wait()
        run.wait_for_processes()
        finish(run, {-signal.SIGKILL}, mpirun_was_killed=True)
        run.check(all(run.job_code_of(rank) == 0 for rank in range(run.ranks)), "a job did not run to its end")
    return run


# ---- processes that stand still ----

@row("sidecar-stopped")
def sidecar_stopped(build):
    with run_of(build, ms=(STOP_S + 3) * 1000, rate=2000) as run:
        hit(run, mpi_run.SIDECAR, 1, signal.SIGSTOP, for_s=STOP_S)
        finish(run, {0})
    return run


@row("sidecar-stopped-over-the-end")
def sidecar_stopped_over_the_end(build):
    with run_of(build, ms=2000) as run:
        hit(run, mpi_run.SIDECAR, 1, signal.SIGSTOP, for_s=STOP_S)
        finish(run, {0}, says="ranktrace recover", reports=["rank 1: contact was lost"])
        run.check(bool(run.spools()), "there is no spool")
    return run


@row("rank-0-sidecar-stopped")
def rank_0_sidecar_stopped(build):
    with run_of(build, ms=(STOP_S + 3) * 1000, rate=2000) as run:
        hit(run, mpi_run.SIDECAR, 0, signal.SIGSTOP, for_s=STOP_S)
        finish(run, {0})
    return run


@row("rank-0-sidecar-stopped-over-the-end")
def rank_0_sidecar_stopped_over_the_end(build):
    with run_of(build, ms=2000) as run:
        hit(run, mpi_run.SIDECAR, 0, signal.SIGSTOP, for_s=STOP_S + 3)
        finish(run, {0}, says="rank 0 is silent", reports=["contact was lost"])
    return run


@row("job-stopped")
def job_stopped(build):
    with run_of(build, ms=2000) as run:
        hit(run, "mark_job", 1, signal.SIGSTOP, for_s=STOP_S)
        finish(run, {0})
    return run


# ---- no room ----

@row("spool-full")
def spool_full(build):
    """Rank 0 stands still until the others' memory and spools are full."""
    with run_of(build, ms=14000, rate=400000, env={"RANKTRACE_QUEUE_BYTES": "1MiB", "RANKTRACE_SPOOL": "32KiB"}) as run:
        hit(run, mpi_run.SIDECAR, 0, signal.SIGSTOP, for_s=STOP_S)
        finish(run, {0}, reports=["records were lost (send_queue)"])
    return run


@row("spool-disk-full")
def spool_disk_full(build):
    """The same, where the spools' disk is full long before their limit."""
    with tempfile.TemporaryDirectory(prefix="rkt_fault.") as folder:
        os.mkdir(folder + "/spools")
        with small_disk(folder + "/spools", "64k") as is_there:
            if not is_there:
                return None
            run = FaultRun(build, folder, ms=14000, rate=400000, env={"RANKTRACE_QUEUE_BYTES": "1MiB"})
            with run:
                hit(run, mpi_run.SIDECAR, 0, signal.SIGSTOP, for_s=STOP_S)
                finish(run, {0}, says="No space left", reports=["records were lost (send_queue)"])
    return run


@row("disk-full", quick=True)
def disk_full(build):
    """Rank 0's; the write that fails ends within a frame."""
    with tempfile.TemporaryDirectory(prefix="rkt_fault.") as folder:
        os.mkdir(folder + "/out")
        with small_disk(folder + "/out", "64k") as is_there:
            if not is_there:
                return None
            with FaultRun(build, folder, ms=2000, rate=50000) as run:
                finish(run, {0}, is_whole=False, says="the file cannot be written any more",
                       reports=["records stop without an end"])
                run.check(len(run.spools()) == run.ranks, f"spools: {run.spools()}")
    return run


@contextlib.contextmanager
def small_disk(path, size):
    if not os.environ.get(IN_NAMESPACE):
        yield False
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", path], check=True)
    try:
        yield True
    finally:
        subprocess.run(["umount", path], check=True)


# ---- at random ----

VICTIMS = {"job": "mark_job", "sidecar": mpi_run.SIDECAR, "rank 0's sidecar": mpi_run.SIDECAR,
           "supervisor": mpi_run.SUPERVISOR}
RANKS = 4
# The way of records to rank 0; with leaders rank 2 leads ranks 2 and 3.
WAYS = {"star": [], "tree": ["--fan-in", "tree:2"], "sharded": ["--fan-in", "tree:2", "--store", "sharded"]}
SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "STOP": signal.SIGSTOP}


class Hit:
    """What is done to whom, and when: all of it from the seed."""

    def __init__(self, rng):
        self.victim = rng.choice(list(VICTIMS))
        self.how = rng.choice(list(SIGNALS))
        self.rank = {"sidecar": rng.randrange(1, RANKS), "rank 0's sidecar": 0}.get(self.victim, rng.randrange(RANKS))
        self.way = rng.choice(list(WAYS))
        self.is_early = rng.random() < 0.2  # as soon as the process is there, also in MPI_Init
        self.delay_s = rng.uniform(0, 0.3) if self.is_early else rng.uniform(0, 2.2)
        self.stop_s = rng.choice([rng.uniform(0.05, 2), rng.uniform(2, 12)])

    def __str__(self):
        text = f"{self.way}: {self.victim} of rank {self.rank}, {self.how}, {self.delay_s:.3f} s after it " \
               f"{'started' if self.is_early else 'recorded'}"
        return text + (f", for {self.stop_s:.2f} s" if self.how == "STOP" else "")

    def codes(self):
        """That mpirun may return; 0 too, where the victim may have gone before the hit."""
        code = {"KILL": 137, "TERM": 143}.get(self.how, 0)
        return {0, code} if self.victim in ("job", "supervisor") else {0}

    def cut_ranks(self):
        """Whose last records nobody can have."""
        return [self.rank] if self.how == "KILL" and self.victim != "job" else []


def random_run(build, what):
    with run_of(build, options=["--hold", "5s", *WAYS[what.way]], ranks=RANKS, ms=2000) as run:
        pid = run.find(VICTIMS[what.victim], what.rank)
        if not what.is_early:
            run.wait_for(lambda: run.marks(what.rank) > 0)
        time.sleep(what.delay_s)
        is_hit = pid is not None and mpi_run.kill(pid, SIGNALS[what.how])
        if is_hit and what.how == "STOP":
            time.sleep(what.stop_s)
            mpi_run.kill(pid, signal.SIGCONT)
        run.wait()
        run.check_code(what.codes())
        run.check_nothing_is_left()
        run.check_acknowledged()
        run.check_sums(run.recover(), what.cut_ranks())
    run.outcome = "not hit" if not is_hit else f"mpirun returned {run.code}"
    return run


def random_runs(build, count, seed):
    rng = random.Random(seed)
    hits = [Hit(rng) for _ in range(count)]
    table = collections.Counter()
    failures = hangs = acked = 0
    slowest = 0.0
    print(f"{count} random runs, seed {seed}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for number, (what, run) in enumerate(zip(hits, pool.map(lambda one: random_run(build, one), hits))):
            table[what.way, what.victim, what.how, run.outcome] += 1
            failures += bool(run.problems)
            hangs += any(problem.startswith("hang") for problem in run.problems)
            acked += run.acked_count
            slowest = max(slowest, run.seconds)
            if run.problems:
                tell_failure(f"random run {number}: {what}", run)
    for (way, victim, how, outcome), times in sorted(table.items()):
        print(f"fault_runs way={way} victim=\"{victim}\" signal={how} outcome=\"{outcome}\" runs={times}")
    print(f"fault_runs runs={count} seed={seed} failures={failures} hangs={hangs} frames_acknowledged={acked} "
          f"slowest_s={slowest:.1f}", flush=True)
    return failures


def tell_failure(what, run):
    print(f"FAILED: {what}: code {run.code}", flush=True)
    for problem in run.problems:
        print("    " + problem)
    print("    " + run.text_kept.replace("\n", "\n    "), flush=True)


def do_row(build, name):
    run = ROWS[name][0](build)
    if run is None:
        print(f"row {name}: skipped: no mount here (unshare -m)", flush=True)
        return 0
    print(f"row {name}: mpirun returned {run.code} after {run.seconds:.1f} s, {run.acked_count} frames acknowledged, "
          f"{'as it should be' if not run.problems else 'FAILED'}", flush=True)
    if run.problems:
        tell_failure("row " + name, run)
    return bool(run.problems)


def enter_namespace():
    """Mounts of our own, where that is allowed; /dev/shm empty, so that what is left there is seen."""
    if os.environ.get(IN_NAMESPACE):
        subprocess.run(["mount", "-t", "tmpfs", "none", "/dev/shm"], check=True)
    elif shutil.which("unshare") and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
        os.environ[IN_NAMESPACE] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--row", action="append", default=[])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    if args.row == ["list"]:
        print("\n".join(ROWS))
        return 0
    if not mpi_run.has_mpi(build) or not os.path.exists(build + "/bin/ranktrace-leave"):
        print("this build has no MPI or no PMIx, or mpirun is not installed")
        return mpi_run.SKIP
    enter_namespace()
    mpi_run.clean_environment()
    rows = args.row or ([] if args.runs else [name for name, (_, quick) in ROWS.items() if quick or args.all])
    runs = args.runs if args.runs else 0 if args.row else RUNS if args.all else SHORT_RUNS
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        failures = sum(pool.map(lambda name: do_row(build, name), rows))
    if runs:
        failures += random_runs(build, runs, args.seed)
    if os.environ.get(IN_NAMESPACE) and os.listdir("/dev/shm"):
        print("FAILED: left in /dev/shm:", os.listdir("/dev/shm"))
        failures += 1
    return bool(failures)


sys.exit(main())
