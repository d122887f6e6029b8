# SPDX-License-Identifier: Apache-2.0
"""The scenarios whose every number is known; simulate_truth.py walks them.

Each has a name, settings of `ranktrace simulate`, faults, and what is wrong in truth: `named` is the
ranks that hold the others up with the cause, `found` the findings above info.
"""
from collections import namedtuple

Scenario = namedtuple("Scenario", "name settings faults named found")


def clean(name, *settings):
    return Scenario(name, list(settings), [], None, None)


def all_ranks(name, found, settings, *faults):
    """What costs all ranks alike: nobody is named."""
    return Scenario(name, settings, list(faults), None, found)


def one(name, ranks, cause, settings, *faults):
    return Scenario(name, settings, list(faults), (ranks, cause), None)


FAST = ["bandwidth=100GB"]
TIGHT = FAST + ["kernel=30us", "launch=20us", "launch-latency=25us", "bucket-bytes=1MiB", "input-bytes=64KiB"]
# 40 us of Python between launches, which kernels of 60 us hide unless the host has to wait
PYTHON = FAST + ["kernel=60us", "launch-latency=5us", "bucket-bytes=1MiB", "input-bytes=64KiB"]
GAPS = "launch-gaps amount=1600us"
CLOCKS = ["nodes=4", "clock-offset=5ms", "clock-drift-ppb=20000"]
SHAPES = ["shapes=4", "operators=1"]
GRID = ["ranks=8", "tp=2", "pp=2"]  # 2 copies of 2 stages of 2 slices
STAGES = ["ranks=8", "pp=4", "micro-batches=4"]
PAIRS = STAGES + ["1f1b=1"]
EXPERTS = FAST + ["ranks=8", "ep=4"]  # 2 groups of 4

# Two stages of four slices whose steps vary by 3 %: by chance a stage is slower than the other for as long
UNEVEN = ["seed=226631465", "ranks=8", "tp=4", "pp=2", "micro-batches=2", "steps=40", "forward-kernels=30", "backward-kernels=60",
          "optimizer-kernels=2", "kernel=150us", "jitter-ppm=50000", "step-jitter-ppm=30000", "buckets=2", "bucket-bytes=85MiB",
          "overlap=0", "input=100us", "cut=36000us"]

SCENARIOS = [
    # sizes and speeds
    clean("one rank", "ranks=1"),
    clean("two ranks", "ranks=2"),
    clean("four ranks"),
    clean("32 ranks", "ranks=32", "steps=6"),
    clean("no overlap", "overlap=0"),
    clean("no jitter", "jitter-ppm=0"),
    clean("a queue that is full", "queue=16"),
    clean("one bucket", "buckets=1"),
    # clocks and cuts
    clean("four clocks", "ranks=8", *CLOCKS),
    clean("windows cut at different places", "cut=80ms"),
    clean("windows cut, four clocks", "ranks=8", "cut=80ms", *CLOCKS),
    one("windows cut, slow kernels", [2], "compute", ["cut=80ms"], "slow-compute rank=2 amount=8ms"),
    # several groups
    clean("tensor parallel", "ranks=4", "tp=2"),
    clean("pipeline", "ranks=4", "pp=2"),
    clean("pipeline of four stages, four micro-batches", *STAGES),
    clean("pipeline whose hosts are late", *STAGES, *TIGHT, "fault = launch-gaps amount=4ms"),
    clean("tensor, pipeline and data parallel", *GRID),
    clean("the same, windows cut, four clocks", *GRID, "cut=80ms", *CLOCKS),
    one("tensor parallel, slow kernels", [1], "compute", ["ranks=4", "tp=2"], "slow-compute rank=1 amount=8ms"),
    one("all groups, slow kernels", [5], "compute", GRID, "slow-compute rank=5 amount=8ms"),
    one("all groups, slow input", [1], "input", GRID, "slow-input rank=1 amount=60ms"),
    one("all groups, slow kernels, windows cut", [3], "compute", GRID + ["cut=80ms"] + CLOCKS,
        "slow-compute rank=3 amount=8ms"),
    # 1F1B: one forward, one backward, and bubbles where the pipeline fills and empties
    clean("1F1B of two stages", "ranks=4", "pp=2", "micro-batches=4", "1f1b=1"),
    clean("1F1B of four stages", *PAIRS),
    clean("1F1B, twice as many micro-batches as stages", "ranks=4", "pp=4", "micro-batches=8", "1f1b=1"),
    clean("1F1B, fewer micro-batches than stages", "ranks=4", "pp=4", "micro-batches=2", "1f1b=1"),
    clean("1F1B, windows cut, four clocks", *PAIRS, "cut=80ms", *CLOCKS),
    clean("1F1B with tensor and data parallel", *GRID, "micro-batches=4", "1f1b=1"),
    one("1F1B, slow kernels of a middle stage", [3], "compute", PAIRS, "slow-compute rank=3 amount=12ms"),
    one("1F1B, slow kernels of the first stage", [0], "compute", PAIRS, "slow-compute rank=0 amount=12ms"),
    one("1F1B, a throttled GPU of the last stage", [7], "compute", PAIRS + ["gpu-samples=50ms"],
        "throttled rank=7 amount=300000"),
    one("1F1B, slow input", [1], "input", PAIRS, "slow-input rank=1 amount=60ms"),
    one("1F1B, a slow stage", [4, 5], "compute", PAIRS, "slow-compute rank=4:6 amount=12ms"),
    # experts: AllToAll, and tokens that are dealt out unevenly
    clean("experts", *EXPERTS),
    clean("experts, two of each", *FAST, "ranks=4", "ep=2"),
    clean("experts, uneven loads", *EXPERTS, "ep-spread-ppm=300000"),
    clean("experts, uneven loads, windows cut, four clocks", *EXPERTS, "ep-spread-ppm=300000", "cut=80ms", *CLOCKS),
    clean("experts with tensors and stages", *FAST, "ranks=16", "ep=4", "tp=2", "pp=2", "micro-batches=2", "1f1b=1"),
    one("a hot expert", [5], "compute", EXPERTS, "hot-expert rank=5 amount=1500000"),
    one("a hot expert, uneven loads", [2], "compute", EXPERTS + ["ep-spread-ppm=200000"],
        "hot-expert rank=2 amount=1500000"),
    one("experts, slow kernels", [6], "compute", EXPERTS, "slow-compute rank=6 amount=8ms"),
    one("experts, slow input", [1], "input", EXPERTS, "slow-input rank=1 amount=60ms"),
    all_ranks("a slow link of two slices", {"slow_link", "communication", "imbalance"}, ["ranks=8", "tp=2"],
              "slow-link rank=2:4 amount=2ms"),
    clean("stages whose steps vary", *UNEVEN),
    # one cause, one rank
    one("slow kernels", [2], "compute", [], "slow-compute rank=2 amount=8ms"),
    one("slow kernels of rank 0", [0], "compute", ["ranks=8"], "slow-compute rank=0 amount=5ms"),
    one("slow kernels, no overlap", [1], "compute", ["overlap=0"], "slow-compute rank=1 amount=8ms"),
    one("slow kernels, four clocks", [5], "compute", ["ranks=8"] + CLOCKS, "slow-compute rank=5 amount=8ms"),
    one("a throttled GPU", [2], "compute", ["gpu-samples=50ms"], "throttled rank=2 amount=300000"),
    one("extra work", [3], "compute", [], "extra-work rank=3 amount=4ms"),
    one("slow input", [1], "input", [], "slow-input rank=1 amount=40ms"),
    one("a late host", [1], "host", [], "slow-host rank=1 amount=40ms"),
    one("launch-bound", [2], "host", TIGHT, "launch-gaps rank=2 amount=8ms"),
    one("pageable copies", [1], "copy", [], "pageable-copy rank=1 amount=64MiB"),
    one("hidden synchronisation", [1], "sync", PYTHON, GAPS, "hidden-sync rank=1 amount=20"),
    one("allocation", [3], "alloc", [], "device-alloc rank=3 amount=40ms"),
    one("200 ms in backward of rank 1 of 8", [1], "compute", ["ranks=8"], "slow-compute rank=1 amount=200ms"),
    clean("short kernels", *FAST, "kernel=3us", "launch=2us", "launch-latency=3us", "bucket-bytes=64KiB", "input-bytes=4KiB"),
    all_ranks("launches that outlast their kernels", {"launch_blocking", "launch_gaps"}, FAST + ["kernel=20us",
              "jitter-ppm=0", "launch=50us", "launch-latency=5us", "bucket-bytes=64KiB", "input-bytes=0B", "input=1us"]),
    clean("launches that some kernels outlast", *FAST, "kernel=50us", "launch=50us", "launch-latency=5us", "input-bytes=0B"),
    # launch shapes, operators and their inputs
    clean("shapes and operators", *SHAPES),
    clean("shapes and operators of all groups", *GRID, *SHAPES, "micro-batches=2", "1f1b=1"),
    clean("operators of experts, four clocks", *EXPERTS, *SHAPES, *CLOCKS),
    clean("an allocator that holds more than it needs", "allocator=8MiB", "queue=16"),
    one("an allocator, and a late host", [1], "host", ["allocator=3MiB"], "slow-host rank=1 amount=40ms"),
    one("kernels of other shapes", [2], "compute", SHAPES, "other-shapes rank=2 amount=6ms"),
    one("slow kernels of two shapes", [1], "compute", ["shapes=2"], "slow-compute rank=1 amount=8ms"),
    all_ranks("shapes that change", set(), FAST + SHAPES, "changing-shapes amount=3"),
    all_ranks("launch gaps between operators, shapes that change", {"launch_gaps"}, TIGHT + SHAPES, "launch-gaps amount=8ms",
              "changing-shapes amount=2 steps=5:20"),
    # pairs of causes on one rank: what costs most is named
    one("slow kernels and slow input", [1], "input", [], "slow-compute rank=1 amount=2ms",
        "slow-input rank=1 amount=40ms"),
    one("slow kernels and pageable copies", [2], "compute", [], "slow-compute rank=2 amount=20ms",
        "pageable-copy rank=2 amount=16MiB"),
    one("a late host and allocation", [0], "alloc", [], "slow-host rank=0 amount=4ms",
        "device-alloc rank=0 amount=40ms"),
    # and on two: fixing the worse one helps up to the other
    one("slow kernels on two ranks", [3], "compute", [], "slow-compute rank=1 amount=4ms",
        "slow-compute rank=3 amount=10ms"),
    one("a slow node", [2, 3], "compute", ["ranks=8", "nodes=4"], "slow-compute rank=2:4 amount=8ms"),
    # one cause on all ranks, and pairs
    all_ranks("pageable copies everywhere", {"exposed_copies"}, FAST, "pageable-copy amount=64MiB"),
    all_ranks("slow input everywhere", {"input"}, FAST, "slow-input amount=40ms"),
    all_ranks("late hosts everywhere", {"launch_gaps"}, FAST, "slow-host amount=40ms"),
    all_ranks("launch gaps everywhere", {"launch_gaps"}, TIGHT, "launch-gaps amount=8ms"),
    all_ranks("synchronisation everywhere", {"hidden_sync"}, PYTHON, GAPS, "hidden-sync amount=20"),
    all_ranks("allocations everywhere", {"device_alloc"}, FAST, "device-alloc amount=40ms"),
    all_ranks("slow transfers", {"communication"}, ["bandwidth=10GB"]),
    all_ranks("serial stream", {"one_stream"}, FAST + ["input-bytes=64MiB"]),
    all_ranks("pageable copies and slow input", {"exposed_copies", "input"}, FAST, "pageable-copy amount=64MiB",
              "slow-input amount=40ms"),
    all_ranks("slow input and transfers", {"input", "communication"}, ["bandwidth=10GB"], "slow-input amount=40ms"),
    all_ranks("allocations and transfers", {"device_alloc", "communication"}, ["bandwidth=10GB"],
              "device-alloc amount=40ms"),
]

LARGE = [
    clean("256 ranks", "ranks=256", "steps=6"),
    clean("256 ranks, 32 nodes", "ranks=256", "nodes=32", "clock-offset=5ms", "clock-drift-ppb=20000", "steps=6"),
    one("256 ranks, slow kernels", [77], "compute", ["ranks=256", "steps=6"], "slow-compute rank=77 amount=8ms"),
    one("256 ranks, all groups", [200], "compute", ["ranks=256", "tp=8", "pp=4", "micro-batches=2", "steps=6"],
        "slow-compute rank=200 amount=8ms"),
    one("256 ranks, 1F1B and experts", [77], "compute", FAST + ["ranks=256", "ep=8", "tp=2", "pp=4", "micro-batches=4",
                                                                "1f1b=1", "steps=6"],
        "slow-compute rank=77 amount=20ms"),
]
