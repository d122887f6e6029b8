#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sidecar over which another's clock is measured dies in the middle of a run: rank 0 takes its place, and the
clocks, whose truth is known (time namespaces), stay inside their bounds.

    clock_parent.py BUILD
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import mpi_run

LIMIT_S = 240
RANKS = 3
SHIFT = '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || ' \
        'exec unshare -T --monotonic "${OMPI_COMM_WORLD_RANK}000" --fork -- "$@"; exec "$@"'


def sources(build, timeline):
    """The words of each source of a timeline, whole or not, as store_summary prints them."""
    done = subprocess.run([build + "/tests/store_summary", timeline], capture_output=True, text=True, check=False)
    return [dict(word.split("=", 1) for word in line.split() if "=" in word)
            for line in done.stdout.splitlines() if line.startswith("source ")]


def sidecar_of(words, rank):
    return words["role"] == "sidecar" and words["number"] == str(rank)


class Run:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.timeline = folder + "/out/timeline.rkt"
        job = f'for i in $(seq {10 * LIMIT_S}); do [ -e "{folder}/go" ] && exit 0; sleep 0.1; done; exit 9'
        env = dict(os.environ, RANKTRACE_CLOCK_STAR="1", RANKTRACE_LOG="warn", TMPDIR=folder)
        self.log = open(folder + "/log", "w")
        self.process = subprocess.Popen(
            mpi_run.mpirun(RANKS) + ["sh", "-c", SHIFT, "sh", build + "/bin/ranktrace-run", "--no-report", "-o",
                                     folder + "/out", "--", "sh", "-c", job],
            env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.end = time.monotonic() + LIMIT_S

    def wait_for(self, what, look):
        while True:
            found = look()
            if found:
                return found
            if self.process.poll() is not None or time.monotonic() > self.end:
                sys.exit(f"clock_parent: {what}: not so: {self.text()}")
            time.sleep(0.1)

    def text(self):
        return mpi_run.read_text(self.folder + "/log")

    def parent(self):
        """(parent, child), once the child has measured its clock against it."""
        for words in sources(self.build, self.timeline):
            peers = [int(peer) for peer in words["peers"].split(",") if peer]
            if words["role"] == "sidecar" and any(peers):
                return max(peers), int(words["number"])
        return None

    def finish(self):
        open(self.folder + "/go", "w").close()
        try:
            return self.process.wait(max(1, self.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit(f"clock_parent: no end: {self.text()}")


def check(is_good, text):
    if not is_good:
        sys.exit("clock_parent: " + text)


def main():
    build = sys.argv[1]
    if not mpi_run.has_mpi(build):
        print("SKIP: this build has no MPI, or there is no mpirun")
        return mpi_run.SKIP
    if subprocess.run(["unshare", "-T", "--monotonic", "1000", "--fork", "true"], capture_output=True,
                      check=False).returncode:
        print("SKIP: no time namespaces here (unshare -T)")
        return mpi_run.SKIP
    mpi_run.clean_environment()
    with tempfile.TemporaryDirectory(prefix="rkt_parent.") as folder:
        run = Run(build, folder)
        parent, child = run.wait_for("a clock is measured over another", run.parent)
        pids = run.wait_for("the parent runs", lambda: mpi_run.by_rank(run.process.pid, mpi_run.SIDECAR))
        mpi_run.kill(pids[parent], signal.SIGKILL)
        run.wait_for("rank 0 takes its place", lambda: "rank 0 takes its place" in run.text())
        code = run.finish()
        check(code == 0, f"exit code {code}: {run.text()}")
        for words in sources(build, run.timeline):
            if words["role"] != "sidecar" or words["number"] == "0":
                continue
            rank = int(words["number"])
            off = int(words["offset_ns"]) + rank * 10**12
            check(words["align"] == "measured", f"rank {rank} is {words['align']}: {run.text()}")
            check(abs(off) <= int(words["bound_ns"]), f"rank {rank} is off by {off}, bound {words['bound_ns']}")
        own = next(words for words in sources(build, run.timeline) if sidecar_of(words, child))
        check(own["peers"] == f"0,{parent}", f"rank {child} measured against {own['peers']}, parent {parent}")
        done = subprocess.run([build + "/bin/ranktrace", "align", run.timeline], capture_output=True, text=True,
                              check=False)
        check(len(re.findall(r"^rank [12] on .*: measured, guaranteed", done.stdout, re.M)) == RANKS - 1 and
              done.returncode == 0, "align: " + done.stdout + done.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
