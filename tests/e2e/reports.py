# SPDX-License-Identifier: Apache-2.0
"""Commands of one build, run on simulated timelines, and what is wrong with what came out.

Used by report_team.py and selection.py; the build folder is their first argument.
"""
import pathlib
import subprocess
import sys

import mpi_run

BUILD = pathlib.Path(sys.argv[1]).resolve()
RANKTRACE = BUILD / "bin" / "ranktrace"
HAS_MPI = (BUILD / "bin" / "ranktrace-report-mpi").exists() and mpi_run.has_mpi(str(BUILD))
PATIENCE_S = 120

mpi_run.clean_environment()
failures = []


def check(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r:.400}, not {want!r:.400}")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, timeout=PATIENCE_S, check=False)


def simulate(path, *lines, options=()):
    words = [word for line in lines for word in ("-s", line)]
    done = run(RANKTRACE, "simulate", "-f", "-o", path, *options, *words)
    if done.returncode != 0:
        sys.exit(f"simulate {lines}: {done.stderr.decode()}")
    return path


def end():
    print("\n".join(failures))
    sys.exit(1 if failures else 0)
