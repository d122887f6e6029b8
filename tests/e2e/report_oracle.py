#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real traces through merge and report against an independent reference, to the nanosecond.

  report_oracle.py BUILD_FOLDER

Every file of every Kineto set is a run of one rank; the sets of one job are a run of their ranks as
well. What must agree is everything about a rank's run window that the reference knows: the window,
its exclusive parts, the unions, copies by kind, the share that counts as busy, and how many records of
each class there are. Skipped (77) where the traces or the reference are not there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from public_traces import JOBS, SHARED, folders, reason_to_skip

ORACLE = SHARED / "oracle" / "kineto_oracle.py"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def report_of(build, files, folder):
    """The report of these files, by rank."""
    store = folder / "run.rkt"
    program = str(build / "bin" / "ranktrace")
    # 1 says that something of a file could not be read, which the rest must not suffer from.
    code, _, errors = run([program, "merge", "--force", "--quiet", "-o", str(store), *map(str, files)])
    if code not in (0, 1) or not store.exists():
        raise RuntimeError(f"merge: exit code {code}: {errors.strip()}")
    code, text, errors = run([program, "report", "--format", "json", str(store)])
    if code != 0:
        raise RuntimeError(f"report: exit code {code}: {errors.strip()}")
    return {rank["rank"]: rank for rank in json.loads(text)["ranks"]}


def oracle_of(files):
    code, text, errors = run([sys.executable, str(ORACLE), *map(str, files)])
    if code != 0:
        raise RuntimeError(f"reference: exit code {code}: {errors.strip()}")
    return {int(rank): window for rank, window in json.loads(text)["ranks"].items()}


def facts_of_report(rank):
    """What the reference knows too, under its names."""
    window = rank["run"]
    parts = window["parts_ns"]
    return {
        "window_ns": window["window_ns"],
        "overlapped": parts["overlapped"],
        "compute": parts["compute"],
        "exposed_comm": parts["comm_wait"] + parts["comm_transfer"] + parts["comm_unsplit"],
        "exposed_copy": sum(parts["copy"].values()),
        "idle": sum(parts["idle"].values()),
        "compute_ns": window["compute_ns"],
        "comm_ns": window["comm_ns"],
        "copy_ns": window["copy_ns"],
        "copy_by_kind_ns": {kind: ns for kind, ns in window["copy_by_kind_ns"].items() if ns},
        "kernels": window["kernels"],
        "gpu_util": window["gpu_util"],
    }


def facts_of_oracle(window):
    facts = {key: window[key] for key in ("window_ns", "compute_ns", "comm_ns", "copy_ns", "kernels", "gpu_util")}
    facts.update(window["parts_ns"])
    facts["copy_by_kind_ns"] = {kind: ns for kind, ns in window["copy_by_kind_ns"].items() if ns}
    return facts


def differences(got, want):
    """Lines that say what differs; ratios are printed with fewer digits than they have."""
    lines = []
    for key, value in want.items():
        if isinstance(value, float) and isinstance(got[key], float):
            same = abs(got[key] - value) <= 1e-5
        else:
            same = got[key] == value
        if not same:
            lines.append(f"{key}: {got[key]}, the reference says {value}")
    return lines


def compare(what, build, files):
    """How many ranks were compared, and what differs."""
    with tempfile.TemporaryDirectory() as folder:
        got = report_of(build, files, pathlib.Path(folder))
    want = oracle_of(files)
    if len(files) == 1 and len(got) == len(want) == 1:
        want = {next(iter(got)): next(iter(want.values()))}  # a file without a rank is any rank
    lines, count = [], 0
    for rank, window in want.items():
        if window is None:
            if rank in got and not got[rank]["is_host_view"]:
                lines.append(f"{what}: rank {rank}: has GPU work, the reference finds none")
            continue
        count += 1
        if rank not in got:
            lines.append(f"{what}: rank {rank}: is missing")
            continue
        found = differences(facts_of_report(got[rank]), facts_of_oracle(window))
        lines += [f"{what}: rank {rank}: {line}" for line in found]
    return count, lines


def main():
    build = pathlib.Path(sys.argv[1])
    reason = reason_to_skip(build)
    if reason:
        print(f"skipped: {reason}")
        return 77
    compared = []
    for name, files in folders():
        compared += [([path], f"{name}/{path.name}") for path in files]
        if name in JOBS:
            compared.append((files, name))
    total, failed = 0, []
    for files, what in compared:
        try:
            count, lines = compare(what, build, files)
        except RuntimeError as error:
            count, lines = 0, [f"{what}: {error}"]
        total += count
        failed += lines
    print("\n".join(failed))
    print(f"{total} ranks of {len(compared)} runs compared, {len(failed)} differences")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
