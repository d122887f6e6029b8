#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a terminal a traced job reads from it, and Ctrl-C reaches it once; with a fake sidecar."""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile

PATIENCE_S = 60

# The signal is blocked and taken by sigwait(): a handler, a shell's trap among them, can be missed
# between the look for signals and the read() that then waits.
JOB = """
import signal
wanted = {signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print('ready', flush=True)
signal.sigwait(wanted)
print('interrupted', flush=True)
while signal.sigtimedwait(wanted, 1):
    print('once more', flush=True)
print('calm', flush=True)
print('read', input(), flush=True)
raise SystemExit(5)
"""


def read_until(fd, pattern, seen):
    while not re.search(pattern, seen):
        if not select.select([fd], [], [], PATIENCE_S)[0]:
            sys.exit(f"FAILED: no '{pattern}' in {PATIENCE_S} s in: {seen}")
        part = os.read(fd, 4096)
        if not part:
            sys.exit(f"FAILED: the terminal closed before '{pattern}' in: {seen}")
        seen += part.decode()
    return seen


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="rkt_terminal.") as work:
        work = pathlib.Path(work)
        (work / "bin").mkdir()
        shutil.copy(build / "bin" / "ranktrace-run", work / "bin")
        shutil.copy(build / "tests" / "fake_sidecar", work / "bin" / "ranktrace-sidecar")
        keep = {name: value for name, value in os.environ.items()
                if not re.match(r"OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|WORLD_SIZE$", name)}
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(work)
            os.execve(work / "bin" / "ranktrace-run",
                      ["ranktrace-run", sys.executable, "-c", JOB], keep)
        seen = read_until(terminal, "ready", "")
        # While the supervisor stands still, so that what it may pass on comes second, not merged.
        os.kill(pid, signal.SIGSTOP)
        os.write(terminal, b"\x03")
        seen = read_until(terminal, "interrupted", seen)
        os.kill(pid, signal.SIGCONT)
        seen = read_until(terminal, "calm", seen)
        os.write(terminal, b"some words\n")
        seen = read_until(terminal, "read some words", seen)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != 5:
            sys.exit(f"FAILED: exit code {code}, not 5: {seen}")
        if "once more" in seen:
            sys.exit(f"FAILED: one Ctrl-C came twice: {seen}")
        left = subprocess.run(["pgrep", "-f", str(work)], capture_output=True, text=True)
        if left.stdout:
            sys.exit(f"FAILED: processes are left: {left.stdout}")
    print("passed")


main()
