#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several processes inherit RANK: which one is the rank, which are helpers, and which write nothing.

    identity.py BUILD             runs the two jobs below and looks at what came of them
    identity.py BUILD --launch    the first job: what a launcher of a training process does

A launcher that marks starts a compile worker with far more GPU work than the training process, then the
training process itself, and forks loaders that try to mark. And a job that an elastic launcher restarts.
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
TRAIN = BUILD + "/simgpu/simgpu_train"
WORKER_KERNELS = 5000
STEPS = 6


def launch():
    """In the job's place. Everything inherits RANK and the library's variables."""
    library = ctypes.CDLL(BUILD + "/lib/libranktrace.so")
    if not library.ranktrace_is_active():
        sys.exit("the launcher is not traced")
    library.ranktrace_range_push(b"launcher")
    library.ranktrace_range_pop()
    worker = subprocess.Popen([BUILD + "/tests/gpu_launch", str(WORKER_KERNELS)],
                              stdout=subprocess.DEVNULL)
    loaders = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            library.ranktrace_mark(b"loader")
            os._exit(library.ranktrace_is_active())
        loaders.append(pid)
    code = subprocess.run([TRAIN, "--steps", str(STEPS), "--layers", "4", "--compute-us", "500"]).returncode
    for pid in loaders:
        code |= os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.exit(code | worker.wait())


class Job:
    """A finished run: its sources, its report, and what simgpu_train said that it did."""

    def __init__(self, command):
        env = {name: value for name, value in os.environ.items()
               if not re.match(r"OMPI_|PMIX_|RANKTRACE_|SLURM_|TORCHELASTIC_|RANK$|WORLD_SIZE$", name)}
        env["LD_LIBRARY_PATH"] = BUILD + "/simgpu"
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([BUILD + "/bin/ranktrace", "run", "--no-report", "-o", folder + "/out", "--",
                                  *command], env=env, capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(f"FAILED: the job ended with {run.returncode}: {run.stdout}{run.stderr}")
            self.facts = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
            self.sources = [dict(re.findall(r"(\w+)=(\S+)", line)) for line in self.tool(
                [BUILD + "/tests/store_summary", folder + "/out/timeline.rkt"]).splitlines()[1:]]
            self.report = json.loads(self.tool([BUILD + "/bin/ranktrace", "report", "--format", "json",
                                                folder + "/out"]))

    @staticmethod
    def tool(command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def of_role(self, role):
        return [source for source in self.sources if source["role"] == role]


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAILED: {what}: {got}, not {wanted}")


def check_helpers():
    job = Job([sys.executable, os.path.abspath(__file__), BUILD, "--launch"])
    ranks, helpers = job.of_role("rank"), job.of_role("helper")
    expect("processes that are the rank", len(ranks), 1)
    expect("its kernels", int(ranks[0]["kernels"]), job.facts[0]["kernels"])
    expect("its steps and communicators", (ranks[0]["steps"], ranks[0]["comms"]), (str(STEPS), "1"))
    # The launcher and the worker; of the loaders nothing, not even that they were there.
    expect("helpers", len(helpers), 2)
    expect("kernels of helpers", sorted(int(h["kernels"]) for h in helpers), [0, WORKER_KERNELS + 100])
    expect("marks of loaders", sum(int(source["marks"]) for source in job.sources), 0)
    expect("ranks of the report", len(job.report["ranks"]), 1)
    expect("steps of the report", len(job.report["ranks"][0]["steps"]), STEPS)


def check_restart():
    job = Job(["sh", "-c", f'for i in 0 1; do TORCHELASTIC_RESTART_COUNT=$i "{TRAIN}" --layers 4 '
               f'--compute-us 500 --steps $((4 + i * 3)) || exit 1; done'])
    expect("incarnations in the store", [source["steps"] for source in job.of_role("rank")], ["4", "7"])
    expect("their rank", {source["rank"] for source in job.of_role("rank")}, {"0"})
    expect("ranks of the report", len(job.report["ranks"]), 1)
    expect("steps of the report", len(job.report["ranks"][0]["steps"]), 7)
    if not any("last attempt, restart 1" in json.dumps(note) for note in job.report["notes"]):
        sys.exit(f"FAILED: no note tells of the restart: {job.report['notes']}")


if "--launch" in sys.argv:
    launch()
if re.search(r"^RKT_SANITIZE:STRING=.", open(BUILD + "/CMakeCache.txt").read(), re.M):
    print("a library with a sanitizer cannot be loaded into Python")
    sys.exit(77)
check_helpers()
check_restart()
