#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what gpu_samples.sh made: reports, what was said, and a Chrome trace.

  check_gpu_samples.py FOLDER     with NAME.json, NAME.err and throttled.trace
"""
import json
import pathlib
import sys

FULL, THROTTLED = 1980, 1485


def lines(folder, name):
    """What ranktrace said of GPUs."""
    return [line for line in (folder / f"{name}.err").read_text().splitlines() if "comp=gpu" in line]


def gpus(report):
    return [rank["gpus"] for rank in report["ranks"]]


def check_ranks(reports):
    throttled, alike = reports["throttled"], reports["alike"]
    for rank, found in enumerate(gpus(throttled)):
        assert len(found) == 1, (rank, found)
        gpu, slow = found[0], rank == 2
        assert gpu["uuid"] == f"GPU-73696d67-7075-0000-0000-{rank:012x}", gpu
        assert gpu["pci"] == f"0000:{rank + 1:02x}:00.0", gpu
        assert gpu["sm_clock_mhz"] == (THROTTLED if slow else FULL), gpu
        assert gpu["throttled"] == gpu["throttled_by"]["hw_thermal"] == (1 if slow else 0), gpu
        assert (gpu["gpu_busy"], gpu["sm_active"], gpu["tensor_active"]) == (0.99, 0.3125, 0.125), gpu
        assert gpu["sm_clock_max_mhz"] == FULL and gpu["power_w"] == 512, gpu
    assert any(step["gpu"]["sm_clock_mhz"] == FULL for step in throttled["ranks"][0]["steps"])

    for report in (throttled, alike):
        found = report["straggler"]
        assert (found["is_found"], found["rank"], found["cause"]) == (True, 2, "compute"), found
    why = throttled["straggler"]["gpu"]
    assert (why["reason"], why["share"], why["others_share"]) == ("hw_thermal", 1, 0), why
    assert (why["sm_clock_mhz"], why["others_sm_clock_mhz"]) == (THROTTLED, FULL), why
    assert all(gpu[0]["throttled_by"]["power_cap"] == 1 for gpu in gpus(alike)), gpus(alike)
    assert alike["straggler"]["gpu"] is None, alike["straggler"]


def check_trace(path):
    tracks = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "C":
            tracks.setdefault((event["pid"], event["name"]), []).append((event["ts"], event["args"]))
    for rank in range(4):
        # each process counts its devices from 0 in its own way: here as the machine does
        clock = tracks[rank + 1, f"GPU {rank} SM clock (MHz)"]
        assert {args["MHz"] for _, args in clock} == {THROTTLED if rank == 2 else FULL}, (rank, clock[:3])
        assert clock == sorted(clock, key=lambda sample: sample[0]), rank
        hot = {args["thermal (hardware)"] for _, args in tracks[rank + 1, f"GPU {rank} throttled by"]}
        assert hot == {int(rank == 2)}, (rank, hot)
        active = tracks[rank + 1, f"GPU {rank} SM active (%)"]
        assert {args["%"] for _, args in active} == {31.25}, (rank, active[:3])


def check_library(folder, reports):
    for name in ("absent", "off"):
        assert gpus(reports[name]) == [[]], (name, gpus(reports[name]))
        assert lines(folder, name) == [], (name, lines(folder, name))
    old = gpus(reports["old"])[0][0]
    assert (old["sm_active"], old["tensor_active"]) == (None, None), old
    assert (old["sm_clock_mhz"], old["throttled"], old["gpu_busy"]) == (FULL, 0, 0.99), old
    assert lines(folder, "old") == [], lines(folder, "old")

    # power is not allowed; later the GPU is lost: one line for each
    lost = gpus(reports["lost"])[0][0]
    assert lost["power_w"] is None and lost["sm_clock_mhz"] == FULL, lost
    said = lines(folder, "lost")
    assert len(said) == 2 and "counter=power" in said[0] and "lost" in said[1], said

    assert gpus(reports["hangs"]) == [[]], gpus(reports["hangs"])
    said = lines(folder, "hangs")
    assert len(said) == 1 and "does not answer" in said[0], said


def main():
    folder = pathlib.Path(sys.argv[1])
    reports = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert len(reports) == 7, sorted(reports)
    for name, report in reports.items():
        assert report["run"]["is_complete"] and report["run"]["loss_count"] == 0, (name, report["run"])
    check_ranks(reports)
    check_trace(folder / "throttled.trace")
    check_library(folder, reports)
    print("throttled:", reports["throttled"]["straggler"]["gpu"])


if __name__ == "__main__":
    main()
