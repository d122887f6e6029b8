#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ranktrace costs a training process and the core beside it, as one logfmt line per check.

    overhead.py BUILD [ROUNDS]

cpu_per_record   CPU time that a traced job takes more than one in which CUPTI records the same for a
                 client that throws it away, per stored record: pairs of runs in turn, one rank, the job
                 host-bound and bound to one core, everything of ours to another. At most 100 ns, by the
                 median of the pairs. What CUPTI itself takes is the stand-in's affair here, and is said:
                 cupti_ns_per_record, of the same runs with and without that client.
control          the same with a library that takes 200 ns more for each record: the check must see it.
sidecar          the share of a core that the sidecar takes at 15,000 records a second; at most 1 %.
kept             60,000 records a second of one rank, from eight threads: none may be dropped.

The last two are asked of marks, and of kernels with their launches, which come back in buffers of CUPTI's.

Exit code 0: all passed; 1: not; 77: this machine cannot tell. Machines are noisy: run it on an idle one.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT_NS = 100
SLOWER_NS = 200
SIDECAR_LIMIT_PERCENT = 1.0
JOB_CORE, OUR_CORE = 0, 1
# Steps that the host cannot launch as fast as the device is done with them: launches of two threads,
# collectives, copies, waits and marks.
TRAIN = ["--steps", "600", "--layers", "64", "--buckets", "16", "--compute-us", "100", "--bytes", "4096",
         "--input-bytes", "4096"]


def run_as_child(result, command):
    """The job's side: runs it on its core, and writes what it took."""
    os.sched_setaffinity(0, {JOB_CORE})
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    with open(result, "w") as f:
        json.dump({"cpu_s": usage.ru_utime + usage.ru_stime}, f)
    return os.waitstatus_to_exitcode(status)


class Bench:
    def __init__(self, build):
        self.build = build
        self.failed = False
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("OMPI_", "PMIX_", "RANKTRACE_", "SLURM_"))}
        self.env["LD_LIBRARY_PATH"] = build + "/simgpu"

    def say(self, check, passed, **fields):
        self.failed |= not passed
        text = " ".join(f"{name}={value}" for name, value in fields.items())
        print(f"bench=overhead check={check} {text} passed={'yes' if passed else 'no'}", flush=True)

    def summary(self, folder):
        """What store_summary says of the rank: numbers by name."""
        out = subprocess.run([self.build + "/tests/store_summary", folder + "/timeline.rkt"],
                             capture_output=True, text=True, check=True).stdout
        line = next(line for line in out.splitlines() if " role=rank " in line)
        return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)(?: |$)", line)}

    def train(self, library):
        """CPU seconds of a run with `library` in it (or none), and the records that it stored (or 0)."""
        with tempfile.TemporaryDirectory() as folder:
            result = folder + "/result"
            command = [sys.executable, os.path.abspath(__file__), "--child", result,
                       self.build + "/simgpu/simgpu_train"] + TRAIN
            is_ours = library and "ranktrace" in os.path.basename(library)
            env = dict(self.env)
            if library:
                env["CUDA_INJECTION64_PATH"] = library
            if is_ours:
                env["NCCL_PROFILER_PLUGIN"] = library
                command = [self.build + "/bin/ranktrace", "run", "--no-report", "-o",
                           folder + "/out", "--"] + command
            subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL,
                           preexec_fn=lambda: os.sched_setaffinity(0, {OUR_CORE}))
            stored = self.summary(folder + "/out") if is_ours else {"events": 0, "lost": 0}
            if stored["lost"] > 0:
                raise RuntimeError(f"{stored['lost']} records were lost: this machine is too busy to tell")
            return json.load(open(result))["cpu_s"], stored["events"]

    def cpu_per_record(self, check, library, rounds, expect):
        null_client = self.build + "/tests/libnull-client.so"
        added, of_cupti = [], []
        for i in range(rounds):
            # in turn who is first, so that what drifts hits both alike
            runs = {kind: self.train(kind) for kind in [library, null_client, None][::-1 if i % 2 else 1]}
            ours, records = runs[library]
            if records == 0:
                raise RuntimeError(f"nothing was recorded with {library}: is it built? (target bench)")
            added.append((ours - runs[null_client][0]) * 1e9 / records)
            of_cupti.append((runs[null_client][0] - runs[None][0]) * 1e9 / records)
        added.sort()
        median = statistics.median(added)
        self.say(check, expect(median), ns_per_record=f"{median:.1f}", limit_ns=LIMIT_NS,
                 low_ns=f"{added[rounds // 4]:.1f}", high_ns=f"{added[-1 - rounds // 4]:.1f}",
                 cupti_ns_per_record=f"{statistics.median(of_cupti):.1f}", records=records, pairs=rounds)
        return median

    def steady(self, kind, with_mpi, rate, seconds):
        """A job of so many records a second: percent of a core of the sidecar; records made, stored, lost."""
        if kind == "marks":
            job = [self.build + "/tests/mark_job", "threads", "8", "rate", str(rate), "ms",
                   str(seconds * 1000)]
        else:  # a kernel and its launch are two
            job = [self.build + "/simgpu/simgpu_train", "--steps", "5", "--compute-us", "100", "--threads", "8",
                   "--side-kernels", str(rate * seconds // 2), "--rate", str(rate // 2)]
        with tempfile.TemporaryDirectory() as folder:
            command = [self.build + "/bin/ranktrace", "run", "--no-report", "-o", folder + "/out", "--"] + job
            if with_mpi:
                root = ["--allow-run-as-root"] if os.getuid() == 0 else []
                command = ["mpirun", "-np", "1"] + root + command
            process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, text=True)
            percent = self.sidecar_percent(process, os.path.basename(job[0]), seconds)
            said, _ = process.communicate()
            if process.returncode != 0:
                raise RuntimeError("the run failed")
            stored = self.summary(folder + "/out")
        made = rate * seconds
        if kind == "kernels":
            facts = json.loads(said[said.index("{"):])
            made = 2 * (facts["kernels"] + facts["side_kernels"])
        return percent, made, 2 * stored["kernels"] if kind == "kernels" else stored["marks"], stored["lost"]

    def sidecar_percent(self, process, job, seconds):
        """From a second after its start to a second before the job's end."""
        pid = None
        while pid is None and process.poll() is None:
            pid = find_below(process.pid, "ranktrace-sidec")
            time.sleep(0.01)
        while process.poll() is None and find_below(process.pid, job) is None:
            time.sleep(0.01)
        time.sleep(1)
        start, start_ns = time.monotonic(), cpu_ns(pid)
        time.sleep(seconds - 2)
        return (cpu_ns(pid) - start_ns) / (time.monotonic() - start) / 1e7


def cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0])


def find_below(pid, name):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            children = f.read().split()
        for child in children:
            with open(f"/proc/{child}/comm") as f:
                if f.read().startswith(name):
                    return int(child)
            found = find_below(int(child), name)
            if found:
                return found
    except OSError:
        pass
    return None


def main():
    if sys.argv[1:2] == ["--child"]:
        return run_as_child(sys.argv[2], sys.argv[3:])
    if len(os.sched_getaffinity(0)) < 2:
        print("bench=overhead not run: it needs two cores")
        return 77
    bench = Bench(os.path.abspath(sys.argv[1]))
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    ours = bench.cpu_per_record("cpu_per_record", bench.build + "/lib/libranktrace.so", rounds,
                                lambda ns: ns <= LIMIT_NS)
    bench.cpu_per_record("control", bench.build + "/tests/libranktrace-slow.so", rounds,
                         lambda ns: ns > LIMIT_NS and ns > ours + SLOWER_NS / 2)
    has_mpi = os.path.exists(bench.build + "/bin/ranktrace-sidecar-mpi") and shutil.which("mpirun")
    for kind in ["marks", "kernels"]:
        for with_mpi in [False, True] if has_mpi else [False]:
            mpi = "yes" if with_mpi else "no"
            percent, _, _, _ = bench.steady(kind, with_mpi, 15000, 10)
            bench.say("sidecar", percent <= SIDECAR_LIMIT_PERCENT, of=kind, percent_of_core=f"{percent:.2f}",
                      limit_percent=SIDECAR_LIMIT_PERCENT, records_per_s=15000, mpi=mpi)
            percent, made, stored, lost = bench.steady(kind, with_mpi, 60000, 10)
            bench.say("kept", lost == 0 and stored == made, of=kind, records_per_s=60000, made=made,
                      stored=stored, lost=lost, sidecar_percent_of_core=f"{percent:.2f}", mpi=mpi)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"bench=overhead failed: {error}")
