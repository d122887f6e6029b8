#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Of every public trace the report is the same, byte for byte, however many processes make it."""
import pathlib
import shutil
import sys
import tempfile

from public_traces import folders, reason_to_skip, run


def reports(build, store, words_before=(), words_after=()):
    return [run(*words_before, build / "bin" / "ranktrace", "report", "-f", form, store, *words_after)
            for form in ("text", "json")]


def check_set(build, store, has_mpi, counts):
    alone = reports(build, store, (), ["--jobs", "1"])
    wrong = []
    for count in counts:
        if reports(build, store, (), ["--jobs", count]) != alone:
            wrong.append(f"--jobs {count}")
        if has_mpi and reports(build, store, ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", count]) != alone:
            wrong.append(f"mpirun -np {count}")
    return wrong


def main():
    build = pathlib.Path(sys.argv[1])
    reason = reason_to_skip(build)
    if reason:
        print(f"skipped: {reason}")
        return 77
    if "RKT_SANITIZE:STRING=\n" not in (build / "CMakeCache.txt").read_text():
        print("skipped: a sanitizer finds no more here than in e2e_report_team; preset dev compares the reports")
        return 77
    has_mpi = (build / "bin" / "ranktrace-report-mpi").exists() and shutil.which("mpirun") is not None
    if not has_mpi:
        print("this build has no MPI, or mpirun is not installed: children alone are looked at")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, files in folders():
            store = pathlib.Path(folder) / f"{name}.rkt"
            if name == "nccl_parser_config":
                continue
            run(build / "bin" / "ranktrace-merge", "--quiet", "-o", store, *files)
            # One file is one rank: of those, one team is enough.
            wrong = check_set(build, store, has_mpi and len(files) > 1, (2, 3, 4) if len(files) > 1 else (2,))
            print(f"{name}: {len(files)} files{': another report of ' if wrong else ''}{', '.join(wrong)}")
            failed |= bool(wrong)
    return 1 if failed else 0


sys.exit(main())
