#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A report that several processes make: mpirun's, or children of one.

    report_team.py BUILD_FOLDER

It is the same, byte for byte, whatever their number; it is written once, and so is an error; each ends with
the same code; one that dies ends all, and no half report is left; a process holds less the more there are.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from mpi_run import mpirun
from reports import BUILD, HAS_MPI, PATIENCE_S, RANKTRACE, check, end, failures, run, simulate


def own_lines(done):
    """What ranktrace itself said on standard error."""
    return [line for line in done.stderr.decode().splitlines() if line.startswith("ranktrace")]


def teams():
    """How a team of some size is started: words before and after 'ranktrace report'."""
    for count in (2, 3, 4, 64):
        yield f"--jobs {count}", [], ["--jobs", str(count)]
    if HAS_MPI:
        for count in (1, 2, 3, 4):
            yield f"mpirun -np {count}", mpirun(count), []


# ---- the same report ----

def make_runs(folder):
    node = ("nodes=3", "clock-offset=5ms", "clock-drift-ppb=10000")
    runs = {
        "a straggler": simulate(folder / "slow.rkt", "ranks=6", *node, "fault = slow-compute rank=2 amount=10ms",
                                "fault = hidden-sync rank=5 amount=3"),
        "a slow input": simulate(folder / "input.rkt", "ranks=4", "fault = slow-input rank=1 amount=40ms"),
        "one rank": simulate(folder / "one.rkt", "ranks=1"),
        "a file per node": simulate(folder / "sharded.rkt", "ranks=6", *node,
                                    "fault = extra-work rank=4 amount=20ms", options=("--store", "sharded")),
    }
    whole = runs["a straggler"].read_bytes()
    runs["a file that is cut"] = folder / "cut.rkt"
    runs["a file that is cut"].write_bytes(whole[:len(whole) * 2 // 3])
    damaged = bytearray(whole)
    for at in range(5000, len(damaged), 9973):
        damaged[at] ^= 0x5a
    runs["a damaged file"] = folder / "damaged.rkt"
    runs["a damaged file"].write_bytes(damaged)
    return runs


def check_same(runs):
    for what, path in runs.items():
        for form in ("text", "json"):
            alone = run(RANKTRACE, "report", "-f", form, "--jobs", "1", path)
            check(f"{what}: alone", (alone.returncode, len(alone.stdout) > 500), (0, True))
            for how, before, after in teams():
                done = run(*before, RANKTRACE, "report", "-f", form, path, *after)
                check(f"{what}, {form}, {how}", (done.returncode, own_lines(done)), (0, []))
                if done.stdout != alone.stdout:
                    failures.append(f"{what}, {form}, {how}: another report")


def check_file(path, folder):
    alone = run(RANKTRACE, "report", "-f", "json", "--jobs", "1", path)
    for how, before, after in teams():
        done = run(*before, RANKTRACE, "report", "-f", "json", "-o", folder / "report.json", path, *after)
        check(f"-o FILE, {how}", (done.returncode, done.stdout), (0, b""))
        check(f"-o FILE, {how}: the file", (folder / "report.json").read_bytes() == alone.stdout, True)
        (folder / "report.json").unlink()


# ---- errors ----

def check_errors(path):
    cases = [
        (["nothing.rkt"], 1, "cannot read"),
        (["--bogus", path], 2, "unknown option '--bogus'"),
        ([], 2, "give one timeline"),
        (["--comm-kernel", "[", path], 2, "comm kernel pattern \"[\""),
        (["-o", "/nowhere/report", path], 1, "cannot write /nowhere/report"),
    ]
    for words, code, part in cases:
        for how, before, after in teams():
            done = run(*before, RANKTRACE, "report", *words, *after)
            lines = own_lines(done)
            check(f"{words}, {how}", (done.returncode, done.stdout, len(lines)), (code, b"", 1))
            check(f"{words}, {how}: {lines} has '{part}'", all(part in line for line in lines), True)
    for how, before, after in teams():
        done = run(*before, RANKTRACE, "report", "--help", *after)
        check(f"--help, {how}", (done.returncode, done.stdout.count(b"usage:")), (0, 1))


def check_late_first(path):
    """Who fails first makes mpirun end the others: not before the first process has said what is wrong."""
    if not HAS_MPI:
        return
    late = ["sh", "-c", '[ "$OMPI_COMM_WORLD_RANK" != 0 ] || sleep 1; exec "$@"', "sh"]
    done = run(*mpirun(3), *late, RANKTRACE, "report", "--bogus", path)
    check("the first is late", (done.returncode, len(own_lines(done))), (2, 1))


def check_without_mpi(path, folder):
    """The program of a build without MPI under an mpirun."""
    if not HAS_MPI:
        return
    for name in ("ranktrace", "ranktrace-report"):
        shutil.copy(BUILD / "bin" / name, folder / name)
    alone = run(RANKTRACE, "report", "--jobs", "1", path)
    done = run(*mpirun(3), folder / "ranktrace", "report", path)
    check("without MPI", (done.returncode, done.stdout == alone.stdout), (0, True))
    check("without MPI: lines", [line for line in own_lines(done) if "this build has no ranktrace-report-mpi" in line],
          own_lines(done))
    check("without MPI: one line", len(own_lines(done)), 1)
    linked = run("ldd", BUILD / "bin" / "ranktrace-report").stdout
    check("ranktrace-report is linked with MPI", b"libmpi" in linked, False)


# ---- a process that dies ----

def members(parent, name, count):
    """The processes of this name below `parent`, when `count` of them are there."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = run("pgrep", "-P", parent, name).stdout.split()
        if len(found) >= count:
            return [int(pid) for pid in found]
        time.sleep(0.01)
    sys.exit(f"{count} processes {name} did not come up")


def is_running(pid):
    """Not gone, and not a zombie that nobody waits for."""
    try:
        return "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def kill_one(before, after, name, count, path, folder):
    """Exit code, what was printed; the process that is killed has not given its share, as it stood still."""
    report = folder / "half.json"
    with subprocess.Popen([str(word) for word in [*before, RANKTRACE, "report", "-f", "json", "-o", report, path,
                                                  *after]],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        pids = members(process.pid, name, count)
        os.kill(pids[-1], signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(pids[-1], signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE_S)
    check(f"{name}: what is left", [path.name for path in folder.glob("half*")], [])
    until = time.monotonic() + 20
    while any(is_running(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    check(f"{name}: processes that are left", [pid for pid in pids if is_running(pid)], [])
    return process.returncode, out, err.decode()


def check_death(path, folder):
    code, out, err = kill_one([], ["--jobs", "3"], "ranktrace", 2, path, folder)
    check("a child dies", (code, out), (1, b""))
    check("a child dies: " + err, "of 3 was ended by signal 9 (Killed)" in err and err.count("\n") == 1, True)
    if not HAS_MPI or b"Open MPI" not in run("mpirun", "--version").stdout:
        return
    code, out, err = kill_one(mpirun(3), [], "ranktrace", 3, path, folder)
    check("an MPI process dies", (code != 0, out), (True, b""))
    check("an MPI process dies: " + err, "exited on signal 9" in err, True)


# ---- memory ----

MEASURE = """
import os, resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL)
with open(sys.argv[1] + os.environ.get("OMPI_COMM_WORLD_RANK", "0"), "w") as out:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=out)
sys.exit(done.returncode)
"""


def peaks(folder, before, path, count):
    """KiB of each MPI process."""
    done = run(*before, sys.executable, "-c", MEASURE, folder / "peak", RANKTRACE, "report", path,
               *([] if before else ["--jobs", "1"]))
    check(f"memory of {count}", done.returncode, 0)
    return [int((folder / f"peak{rank}").read_text()) for rank in range(count)]


def check_memory(folder):
    cache = (BUILD / "CMakeCache.txt").read_text()
    if not HAS_MPI or "RKT_SANITIZE:STRING=\n" not in cache or b"Open MPI" not in run("mpirun", "--version").stdout:
        print("memory is not measured: no Open MPI, or a sanitizer's own")
        return
    # Much of each step is left of a rank, so that what one process holds is mostly that of its ranks.
    path = simulate(folder / "large.rkt", "ranks=48", "steps=400", "forward-kernels=3", "backward-kernels=6",
                    "optimizer-kernels=1")
    alone = peaks(folder, [], path, 1)[0]
    two = peaks(folder, mpirun(2), path, 2)
    four = peaks(folder, mpirun(4), path, 4)
    print(f"KiB of each process: {alone} alone, {two} of two, {four} of four")
    for what, all_peaks in (("two", two), ("four", four)):
        check(f"the lead of {what} holds the results, and no more", all_peaks[0] < alone * 1.25, True)
        check(f"a member of {what} holds one rank", max(all_peaks[1:]) < alone / 2, True)


def main():
    if not HAS_MPI:
        print("this build has no MPI, or mpirun is not installed: children alone are looked at")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs = make_runs(folder)
        check_same(runs)
        check_file(runs["a straggler"], folder)
        check_errors(runs["a straggler"])
        check_late_first(runs["a straggler"])
        check_without_mpi(runs["a straggler"], folder)
        check_death(simulate(folder / "long.rkt", "ranks=24", "steps=400"), folder)
        check_memory(folder)
    end()


main()
