#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The steps of tests/gpu/run.sh: each asks one question, and gives lines of a table.

    measure.py --build DIR --output FILE [--quick]

A step that cannot be run here raises NotRun with the reason. What fails is in the table too, and makes the
exit code 1.
"""
import argparse
import ctypes
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class NotRun(Exception):
    """This machine cannot answer; the text says why."""


def fields(text):
    """key=value and key="value with blanks" of all lines, as a dictionary."""
    return {key: value.strip('"') for key, value in re.findall(r'(\w+)=("[^"]*"|\S+)', text)}


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


class Machine:
    """The build under test, and ways to run a program: alone, traced, or with the probe."""

    def __init__(self, build, is_quick):
        self.build = build
        self.is_quick = is_quick
        self.python = self.find_python()
        self.env = {name: value for name, value in os.environ.items()
                    if not re.match(r"OMPI_|PMIX_|RANKTRACE_|SLURM_|CUDA_INJECTION|NCCL_PROFILER", name)}

    @staticmethod
    def find_python():
        """One that has torch, if any has."""
        for candidate in [sys.executable, "/usr/bin/python3"]:
            if subprocess.run([candidate, "-c", "import torch"], capture_output=True).returncode == 0:
                return candidate
        return sys.executable

    def count(self, full, quick):
        return quick if self.is_quick else full

    def launch(self, *arguments):
        return [self.build + "/tests/gpu_launch", *map(str, arguments)]

    def torch(self, *arguments):
        return [self.python, HERE + "/torch_step.py", *map(str, arguments)]

    def alone(self, command, **env):
        done = subprocess.run(command, env={**self.env, **env}, capture_output=True, text=True)
        if done.returncode == 77:
            raise NotRun((done.stdout.strip() or done.stderr.strip()).splitlines()[-1])
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    def traced(self, command, *options):
        """What the program printed, and what is in the store of its rank."""
        with tempfile.TemporaryDirectory() as folder:
            out = self.alone([self.build + "/bin/ranktrace", "run", "--no-report", "-o", folder + "/out",
                              *options, "--", *command])
            summary = self.alone([self.build + "/tests/store_summary", folder + "/out/timeline.rkt"])
        ranks = [line for line in summary.splitlines() if " role=rank " in line]
        return out, fields(ranks[0]) if ranks else {}

    def probed(self, command, calls, flush_ms=1000):
        """What gpu_probe.so saw in the program."""
        with tempfile.NamedTemporaryFile() as out:
            self.alone(command, CUDA_INJECTION64_PATH=self.build + "/tests/gpu_probe.so",
                       GPU_PROBE_CALLS=calls, GPU_PROBE_OUT=out.name, GPU_PROBE_FLUSH_MS=str(flush_ms))
            text = out.read().decode()
        if not text:
            raise RuntimeError("the driver did not load CUDA_INJECTION64_PATH")
        seen = fields(text)
        if "why" in seen:
            raise NotRun("CUPTI: " + seen["why"])
        return seen

    def pairs(self, command, name, rounds, *options):
        """`name` of what is printed, alone and traced, in turn: ratios of the pairs, and both medians."""
        alone, traced = [], []
        for i in range(rounds):
            for is_traced in [False, True] if i % 2 else [True, False]:
                out = self.traced(command, *options)[0] if is_traced else self.alone(command)
                (traced if is_traced else alone).append(float(fields(out)[name]))
        ratios = [b / a for a, b in zip(alone, traced)]
        return ratios, statistics.median(alone), statistics.median(traced)


# ---- the questions ----

def versions(machine):
    seen = fields(machine.alone(machine.launch(1)))
    yield "GPU", seen["device"]
    yield "CUDA driver interface", seen["driver"]
    yield "NVIDIA driver", first_line("/proc/driver/nvidia/version")
    yield "CUPTI", library_version("libcupti.so.13", "libcupti.so.12", name="cuptiGetVersion")
    yield "NCCL", library_version("libnccl.so.2", name="ncclGetVersion")
    try:
        torch = fields(machine.alone(machine.torch("step", 1)))
        yield "PyTorch", f"{torch['torch']} (CUDA {torch['cuda']}, NCCL {torch['nccl']})"
    except NotRun as reason:
        yield "PyTorch", f"not there: {reason}"
    yield "kernel and CPU", f"{platform.release()}, {os.cpu_count()} cores"
    yield "date", time.strftime("%Y-%m-%d")


def first_line(path):
    try:
        with open(path) as f:
            return f.readline().strip()
    except OSError:
        return "not there"


def library_version(*libraries, name):
    for library in libraries:
        try:
            version = ctypes.c_uint32()
            getattr(ctypes.CDLL(library), name)(ctypes.byref(version))
            return str(version.value)
        except (OSError, AttributeError):
            continue
    return "not there"


def training_step(machine):
    rounds, steps = machine.count(9, 3), machine.count(300, 20)
    ratios, alone, traced = machine.pairs(machine.torch("step", steps), "step_ms", rounds)
    yield "step time, traced / alone, of pairs in turn", spread(ratios)
    yield "step, median", f"{alone:.3f} ms alone, {traced:.3f} ms traced, {rounds} pairs"


def launch_bound(machine):
    rounds, count = machine.count(9, 3), machine.count(500000, 20000)
    for nodes, what in [(0, "kernels launched one by one"), (100, "kernels in graphs of 100")]:
        ratios, alone, traced = machine.pairs(machine.launch(count, nodes), "host_ns", rounds)
        yield f"{what}: host time, traced / alone", spread(ratios)
        yield f"{what}: added per kernel", f"{traced - alone:.0f} ns, beside {alone:.0f} ns alone"


def correlation(machine):
    for what, command in [("driver interface", machine.launch(10000)),
                          ("PyTorch (runtime)", machine.torch("step", 20))]:
        try:
            seen = machine.probed(command, "driver-launches")
            yield f"{what}: kernels with a call, launch calls of the driver alone", \
                f"{seen['matched']} of {seen['kernels']}"
        except NotRun as reason:
            yield what, f"not run: {reason}"


def injection(machine):
    seen = machine.probed(machine.launch(1000), "all")
    yield "InitializeInjection on the main thread", "yes" if seen["on_main_thread"] == "1" else "no"
    yield "called after the process started", seen["loaded_after_ms"] + " ms"
    yield "CUPTI's start took", seen["took_ms"] + " ms"


def latency(machine):
    for flush_ms in [1000, 100]:
        seen = machine.probed(machine.launch(machine.count(3000000, 50000)), "all", flush_ms)
        yield f"from a kernel's end to its record, asked every {flush_ms} ms", \
            f"median {seen['latency_p50_ms']} ms, 99 % {seen['latency_p99_ms']} ms, " \
            f"longest {seen['latency_max_ms']} ms"
        yield f"longest cuptiActivityFlushAll(0), asked every {flush_ms} ms", \
            f"{seen['flush_longest_ms']} ms of {seen['flushes']}"


def clocks(machine):
    seen = fields(machine.alone([machine.build + "/tests/gpu_clock", str(machine.count(5000, 200))]))
    yield "kernels that CUPTI puts outside of what the host saw (CLOCK_REALTIME)", \
        f"{seen['outside']} of {seen['kernels']}"
    yield "by how much", f"median {seen['outside_p50_ns']} ns, 99 % {seen['outside_p99_ns']} ns, " \
        f"most {seen['outside_max_ns']} ns"
    if "globaltimer" in seen:
        yield "CUPTI's start less %globaltimer", f"not run: {seen['globaltimer']}"
    else:
        yield "CUPTI's start less %globaltimer", \
            f"{seen['cupti_minus_globaltimer_min_ns']} to {seen['cupti_minus_globaltimer_max_ns']} ns"


def exhaustion(machine):
    nodes = 1000
    seen = machine.probed(machine.launch(machine.count(40000000, 100000), nodes), "all")
    yield f"kernels in graphs of {nodes}", seen["kernels"]
    yield "with stamps of 0, and with impossible ones", f"{seen['zero']} and {seen['garbage']}"
    yield "the first of them", "none" if seen["first_bad"] == "0" else f"number {seen['first_bad']}"
    yield "dropped by CUPTI", seen["dropped"]


def profiler(machine):
    steps = machine.count(90, 30)
    out, stored = machine.traced(machine.torch("profiler", steps))
    yield "kernels that torch.profiler saw while we traced", fields(out)["profiler_kernels"]
    yield "kernels that we have, before and after it", stored.get("kernels", "0")
    yield "marked as a gap", stored.get("gap_ms", "0") + " ms"


def thread_names(machine):
    yield "threads of a PyTorch process", fields(machine.alone(machine.torch("threads")))["names"]


def nccl(machine):
    try:
        _, stored = machine.traced(machine.torch("step", 20))
        what = "PyTorch DDP with one rank"
    except NotRun:
        program = machine.build + "/simgpu/simgpu_train_toolkit"
        if not os.path.exists(program):
            raise NotRun("neither torch nor a program linked with NCCL is there") from None
        _, stored = machine.traced([program, "--steps", "20"])
        what = "a training loop with one rank"
    yield f"{what}: communicators, NCCL events, steps", \
        f"{stored.get('comms')}, {stored.get('nccl')}, {stored.get('steps')}"
    yield "lost", stored.get("lost", "?")


QUESTIONS = [
    ("Versions", versions),
    ("What does tracing cost a training step?", training_step),
    ("What does it cost a program that only launches?", launch_bound),
    ("Do the driver's launch calls alone correlate every kernel?", correlation),
    ("On which thread and when is the library loaded?", injection),
    ("How late do records come?", latency),
    ("How wrong are CUPTI's stamps, and is %globaltimer the same clock?", clocks),
    ("Do stamps go wrong after many kernels in graphs?", exhaustion),
    ("Do we and torch.profiler get along?", profiler),
    ("What are the threads called?", thread_names),
    ("What does NCCL tell of one rank?", nccl),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    machine = Machine(options.build, options.quick)
    failures = 0
    os.makedirs(os.path.dirname(options.output), exist_ok=True)
    with open(options.output, "w") as out:
        kind = "quick counts: a check of the script, not a measurement" if options.quick else "full counts"
        print(f"# Results on a GPU\n\nMade by `tests/gpu/run.sh`, {kind}.", file=out)
        for title, ask in QUESTIONS:
            print(f"\n## {title}\n\n| what | answer |\n|---|---|", file=out, flush=True)
            print(title, flush=True)
            try:
                for what, answer in ask(machine):
                    print(f"| {what} | {answer} |", file=out, flush=True)
            except NotRun as reason:
                print(f"| | not run: {reason} |", file=out, flush=True)
            except (RuntimeError, OSError, KeyError, subprocess.SubprocessError) as error:
                failures += 1
                print(f"| | failed: {str(error).splitlines()[0]} |", file=out, flush=True)
                print(f"failed: {error}", file=sys.stderr)
    print(f"results: {options.output}")
    return failures > 0


sys.exit(main())
