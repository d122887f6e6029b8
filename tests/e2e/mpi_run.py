# SPDX-License-Identifier: Apache-2.0
"""Runs under mpirun that a test starts, looks into and hits: who is who, what they take, what is left.

Used by kill_runs.py, fault_matrix.py, soak.py and sidecar_memory.py.
"""
import mmap
import os
import shutil
import struct

SKIP = 77
SIDECAR = "ranktrace-sidec"  # as the kernel cuts it
SUPERVISOR = "ranktrace-run"
ACCOUNT_THREADS_MAX = 64  # of mark_job


def has_mpi(build):
    return os.path.exists(build + "/bin/ranktrace-sidecar-mpi") and shutil.which("mpirun")


def clean_environment():
    """Without what a surrounding mpirun or an earlier run may have left."""
    for name in list(os.environ):
        if name.startswith(("OMPI_", "PMIX_", "PMI_", "RANKTRACE_", "SLURM_")) or name in ("RANK", "WORLD_SIZE"):
            del os.environ[name]


def mpirun(ranks):
    command = ["mpirun", "-np", str(ranks), "--oversubscribe"]
    return command + ["--allow-run-as-root"] if os.getuid() == 0 else command


def read_text(path):
    """'' where it is gone, as processes go at any moment."""
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def descendants(pid):
    """Process ids below pid, with their command names."""
    found = []
    for child in read_text(f"/proc/{pid}/task/{pid}/children").split():
        name = read_text(f"/proc/{child}/comm").strip()
        if name:
            found.append((int(child), name))
        found += descendants(int(child))
    return found


def rank_of(pid):
    for item in read_text(f"/proc/{pid}/environ").split("\0"):
        if item.startswith("OMPI_COMM_WORLD_RANK="):
            return int(item.split("=")[1])
    return 0


def by_rank(pid, name):
    """{rank: process id} of the topmost processes of that command name below pid."""
    found = {}
    for one, comm in descendants(pid):
        if comm.startswith(name):
            found.setdefault(rank_of(one), one)
    return found


def kill(pid, number):
    """False: it was gone before."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def cpu_seconds(pid):
    fields = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else None


def number_of(path, key):
    """The number behind `key` in a file of /proc (kB, counts); None where the process is gone."""
    for line in read_text(path).splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return None


def own_kb(pid):
    """What the process holds but for pages of files: those of libraries come and go with other processes."""
    parts = [number_of(f"/proc/{pid}/status", key) for key in ("RssAnon", "RssShmem")]
    return None if None in parts else sum(parts)


def marks_of(path):
    """What the threads of a mark_job wrote, by their own account in that file."""
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return 0
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as memory:
        return sum(struct.unpack(f"{ACCOUNT_THREADS_MAX}Q", memory[:8 * ACCOUNT_THREADS_MAX]))
