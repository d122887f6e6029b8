#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each scenario of simgpu_train leaves the mark on the device that it promises.

  simgpu_scenarios.py BUILD_FOLDER

Runs four ranks per scenario with the probe injected, and compares the probe's records with the facts
that each rank printed. Every claim follows from the model's times or is a lower bound: none depends
on how busy this machine is.
"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict

RANKS = 4
SLOW_RANK = 2
STEPS = 8
TIMEOUT_S = 60
# Each process joins the device's clock to CLOCK_REALTIME by itself; this is how far apart two such
# readings may lie. The claims that need it are about milliseconds.
CLOCKS_APART_NS = 500_000
HTOD, DTOH = 1, 2
PAGEABLE, PINNED = 1, 2
STREAM_SYNC = 3
CALL_ALLOC, CALL_GRAPH_LAUNCH, CALL_ALLOC_ASYNC = 243, 514, 598  # as CUPTI numbers them
CALL_RUNTIME_LAUNCH = 211


class Rank:
    """What one rank printed and what the probe wrote of it."""

    def __init__(self, truth, lines):
        self.truth = truth
        self.kernels = []  # (name, start, end, correlation)
        self.copies = []  # (kind, source, target, bytes, start, end)
        self.syncs = defaultdict(int)
        self.threads = {}  # correlation -> thread name
        self.calls = defaultdict(int)  # by CUPTI's id
        self.runtime = defaultdict(list)  # CUPTI's id of a runtime call -> correlations
        self.other = []
        for line in lines:
            word, *rest = line.split(" ")
            if word == "kernel":
                self.kernels.append((rest[4], int(rest[1]), int(rest[2]), int(rest[3])))
            elif word == "copy":
                self.copies.append(tuple(map(int, rest)))
            elif word == "sync":
                self.syncs[int(rest[0])] += 1
            elif word == "runtime":
                self.runtime[int(rest[0])].append(int(rest[1]))
            elif word == "api":
                self.threads[int(rest[1])] = " ".join(rest[2:])
                self.calls[int(rest[0])] += 1
            else:
                self.other.append(line)
        self.kernels.sort(key=lambda kernel: kernel[1])

    def of(self, part):
        return [kernel for kernel in self.kernels if part in kernel[0]]

    def collective_ns(self):
        return sum(end - start for _, start, end, _ in self.of("nccl"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(build, options, rank_count=RANKS):
    """Returns the ranks as a list of Rank."""
    with tempfile.TemporaryDirectory() as folder:
        # LeakSanitizer (gcc 12) dies of threads that outlive main with data of a library loaded late.
        asan = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
        base = dict(os.environ, ASAN_OPTIONS=asan, LD_LIBRARY_PATH=f"{build}/simgpu", WORLD_SIZE=str(rank_count),
                    MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()),
                    CUDA_INJECTION64_PATH=f"{build}/simgpu/libnccl-profiler-simprobe.so",
                    NCCL_PROFILER_PLUGIN="simprobe", SIMGPU_PROBE_DIR=folder)
        command = [f"{build}/simgpu/simgpu_train", "--steps", str(STEPS), "--compute-us", "4000",
                   *options]
        jobs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                 env=dict(base, RANK=str(rank), LOCAL_RANK=str(rank)))
                for rank in range(rank_count)]
        try:
            outputs = [job.communicate(timeout=TIMEOUT_S)[0] for job in jobs]
        finally:
            for job in jobs:
                job.kill()
        for rank, job in enumerate(jobs):
            check(job.returncode == 0, f"rank {rank} ended with {job.returncode}")
        return [Rank(json.loads(output),
                     pathlib.Path(folder, f"{rank}.txt").read_text(encoding="ascii").splitlines())
                for rank, output in enumerate(outputs)]


def check(claim, text):
    if not claim:
        raise AssertionError(text)


def check_records(ranks):
    """The probe saw all that was asked for, in full, and in the right threads."""
    for rank in ranks:
        truth = rank.truth
        train = rank.of("train_")
        check("injected 1" in rank.other and "dropped 0" in rank.other, "probe was not injected")
        check(f"init 5 {RANKS} {truth['rank']}" in rank.other, "probe is no plugin")
        check(len(train) == truth["kernels"], "kernels")
        check(sum(end - start for _, start, end, _ in train) == truth["kernel_ns"], "kernel time")
        check(len(rank.of("ncclDevKernel_AllReduce_Sum_f32_RING_LL")) == truth["collectives"],
              "collectives")
        check(len(rank.copies) == truth["copies"], "copies")
        check(sum(copy[3] for copy in rank.copies) == truth["copy_bytes"], "copied bytes")
        for name, _, _, correlation in rank.kernels:
            from_autograd = rank.threads[correlation] == "pt_autograd_0"
            check(from_autograd == ("backward" in name or "nccl" in name),
                  f"{name} was launched by {rank.threads[correlation]}")


def check_meetings(ranks):
    """A collective ends everywhere after it has begun everywhere."""
    rows = [rank.of("nccl") for rank in ranks]
    for parts in zip(*rows):
        last_start = max(start for _, start, _, _ in parts)
        first_end = min(end for _, _, end, _ in parts)
        check(first_end > last_start - CLOCKS_APART_NS, "a collective ended before all began")


def overlaps(kernel, others):
    return any(kernel[1] < other[2] and other[1] < kernel[2] for other in others)


def overlap_count(rank):
    backward = rank.of("backward")
    return sum(overlaps(kernel, backward) for kernel in rank.of("nccl"))


def clean(ranks):
    for rank in ranks:
        check(overlap_count(rank) > 0, "no collective ran beside the backward pass")
        check(all(copy[:2] == (HTOD, PINNED) for copy in rank.copies), "input is pinned")
        check(rank.syncs[STREAM_SYNC] == 0, "nobody waits for a stream")


def check_slow_rank_waits_least(ranks):
    """The others' kernels of the collectives are long, since they wait for the slow rank's."""
    waits = [rank.collective_ns() for rank in ranks]
    check(min(waits) == waits[SLOW_RANK], f"time in collectives by rank: {waits}")


def slow_compute(ranks):
    for rank in ranks:
        factor = 2 if rank.truth["rank"] == SLOW_RANK else 1
        check(rank.truth["kernel_ns"] == factor * ranks[0].truth["kernel_ns"], "twice the time")
    check_slow_rank_waits_least(ranks)


def slow_input(ranks):
    kernels = ranks[SLOW_RANK].of("train_")
    span = kernels[-1][2] - kernels[0][1]
    for rank in ranks:
        check((rank.truth["input_wait_ns"] > 0) == (rank.truth["rank"] == SLOW_RANK), "one waits")
    # the first wait is before the first kernel
    waits = ranks[SLOW_RANK].truth["input_wait_ns"] * (STEPS - 1) / STEPS
    check(span >= waits, "the device had work while the input was waited for")
    check_slow_rank_waits_least(ranks)


def hidden_sync(ranks):
    for rank in ranks:
        fetched = [copy for copy in rank.copies if copy[0] == DTOH]
        check(rank.truth["hidden_syncs"] == STEPS * rank.truth["layers"], "one per layer")
        check(rank.syncs[STREAM_SYNC] == rank.truth["hidden_syncs"], "waits for a stream")
        check(len(fetched) == rank.truth["hidden_syncs"], "copies to the host")
        check(all(copy[2] == PAGEABLE for copy in fetched), "into pageable memory")


def launch_gaps(ranks):
    for rank in ranks:
        kernels = rank.of("train_")
        span = kernels[-1][2] - kernels[0][1]
        check(span >= 0.95 * rank.truth["launch_wait_ns"], "the device did not wait for launches")


def no_overlap(ranks):
    for rank in ranks:
        check(overlap_count(rank) == 0, "a collective ran beside the backward pass")


def pageable_input(ranks):
    for rank in ranks:
        check(len(rank.copies) == STEPS, "one input per step")
        check(all(copy[:2] == (HTOD, PAGEABLE) for copy in rank.copies), "input is pageable")


SCENARIOS = {"clean": clean, "slow-compute": slow_compute, "slow-input": slow_input,
             "hidden-sync": hidden_sync, "launch-gaps": launch_gaps, "no-overlap": no_overlap,
             "pageable-input": pageable_input}


def graphs(ranks):
    for rank in ranks:
        check_graphs(rank)
    check_meetings(ranks)


def check_graphs(rank):
    truth = rank.truth
    train = rank.of("train_")
    check(len(rank.of("ncclDevKernel_AllReduce")) == truth["collectives"], "collectives")
    check(truth["graph_launches"] == STEPS - 1, "all steps but the first are launched as a graph")
    check(rank.calls[CALL_GRAPH_LAUNCH] == truth["graph_launches"], "calls")
    check(len(train) == truth["kernels"], "kernels")
    check(sum(end - start for _, start, end, _ in train) == truth["kernel_ns"], "kernel time")
    check(len(rank.copies) == truth["copies"], "copies")
    check(len({kernel[3] for kernel in train}) < len(train) / 4, "nodes have their launch's id")


def runtime(ranks):
    rank, = ranks
    launches = set(rank.runtime[CALL_RUNTIME_LAUNCH])
    check(len(launches) == rank.truth["kernels"], "a call of the runtime per kernel")
    check({kernel[3] for kernel in rank.of("train_")} == launches, "with the kernel's id")
    check(launches <= rank.threads.keys(), "which is that of the driver's call too")


def memory_churn(ranks):
    rank, = ranks
    check(rank.truth["memory_ops"] == 3 * 4 * STEPS, "four operations, three times a step")
    check(rank.calls[CALL_ALLOC] >= 3 * STEPS, "taken from the device")
    check(rank.calls[CALL_ALLOC_ASYNC] == 3 * STEPS, "taken from the pool")


def side_kernels(ranks):
    rank, = ranks
    side = rank.of("train_side")
    check(rank.truth["side_kernels"] == 1001 and len(side) == 1001, "all were launched")
    check(all(end == start for _, start, end, _ in side), "they take no time")
    check(rank.truth["wall_ns"] >= 240_000_000, "4000 a second")
    check("dropped 0" in rank.other, "none was dropped")


def thief(ranks):
    rank, = ranks
    per_step = rank.truth["kernels"] / STEPS
    check(rank.truth["thief_records"] >= 3 * per_step, "it got three steps")
    check(len(rank.of("train_")) <= 2 * per_step, "the first client gets nothing more")


# Names of options -> how many ranks, and what they must show.
LOADS = {"--graphs": (2, graphs), "--runtime": (1, runtime), "--memory-churn 3": (1, memory_churn),
         "--threads 4 --side-kernels 1001 --rate 4000": (1, side_kernels), "--thief 2:4": (1, thief),
         "--thief 2:4:finalize": (1, thief)}


def attempt(name, test):
    try:
        test()
        print(f"{name}: as promised")
        return True
    except AssertionError as error:
        print(f"{name}: {error}")
        return False


def main():
    def scenario(name, check_scenario):
        ranks = run(sys.argv[1], ["--scenario", name, "--slow-rank", str(SLOW_RANK)])
        check_records(ranks)
        check_meetings(ranks)
        check_scenario(ranks)

    def load(options, rank_count, check_load):
        check_load(run(sys.argv[1], options.split(), rank_count))

    results = [attempt(name, lambda: scenario(name, test)) for name, test in SCENARIOS.items()]
    results += [attempt(name, lambda: load(name, *test)) for name, test in LOADS.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
