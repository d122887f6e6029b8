#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a report costs, from 8 to 1,024 ranks with equal events per rank: one logfmt line each.

    report_scale.py BUILD_FOLDER [--large]

CPU time per event of one process, its peak memory, and the ratio of the largest run's to the smallest's, which
may be 1.3. Small runs are reported several times, so that each number is of a second of CPU or more. Then the
largest run with two processes: CPU time of both, peak memory of the larger. --large: 1,024 ranks of 100,000
events, too.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RANKS = (8, 64, 512, 1024)
STEPS = 71  # 20,000 events of a rank
STEPS_LARGE = 355  # 100,000


def simulate(ranktrace, path, ranks, steps):
    words = ["-s", f"ranks={ranks}", "-s", f"nodes={(ranks + 7) // 8}", "-s", f"steps={steps}", "-s",
             "fault = slow-compute rank=2 amount=3ms"]
    said = subprocess.run([ranktrace, "simulate", "--force", "-o", path, *words], capture_output=True, check=True, text=True)
    return int(re.search(r"(\d+) events", said.stdout).group(1))


def measure(words, least_s):
    """(CPU seconds of one run, its peak MiB)"""
    cpu_s, peak_mib, runs = 0.0, 0.0, 0
    while runs == 0 or cpu_s < least_s:
        pid = os.posix_spawn(words[0], words, os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(words)}: {status}")
        cpu_s += usage.ru_utime + usage.ru_stime
        peak_mib = max(peak_mib, usage.ru_maxrss / 1024)
        runs += 1
    return cpu_s / runs, peak_mib


def main():
    build = pathlib.Path(sys.argv[1])
    ranktrace, report = str(build / "bin" / "ranktrace"), str(build / "bin" / "ranktrace-report")
    per_event = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/run.rkt"

        def line(ranks, steps, jobs):
            events = simulate(ranktrace, path, ranks, steps) if jobs == 1 else line.events
            line.events = events
            cpu_s, peak_mib = measure([report, "--jobs", str(jobs), path], 2.0)
            print(f"bench=report ranks={ranks} events={events} jobs={jobs} cpu_s={cpu_s:.2f} "
                  f"cpu_ns_per_event={cpu_s * 1e9 / events:.0f} peak_mib={peak_mib:.0f}", flush=True)
            return cpu_s * 1e9 / events

        for ranks in RANKS:
            per_event[ranks] = line(ranks, STEPS, 1)
        line(RANKS[-1], STEPS, 2)
        print(f"bench=report ranks={RANKS[-1]}/{RANKS[0]} "
              f"cpu_per_event_ratio={per_event[RANKS[-1]] / per_event[RANKS[0]]:.2f}")
        if "--large" in sys.argv[2:]:
            line(RANKS[-1], STEPS_LARGE, 1)


main()
