# SPDX-License-Identifier: Apache-2.0
"""One run under mpirun in which something goes wrong, and what must hold after it, whatever it was.

    acked    what was acknowledged is in the file, or where leaders write files in one of these: the first N
             frames that a sidecar sent, by source and number, N by its own log (RANKTRACE_LOG=send:debug; straight
             to a file, so that it survives mpirun). What it sent again, to rank 0 in its leader's place, counts once
    sums     what a job's threads counted is stored or counted as lost, once spools are recovered; each thread
             may have one more than it counted. A job that was not traced had its line
    left     no process, no socket, no temporary file; a spool only where a line names it, or mpirun killed all
    hang     nothing takes longer than LIMIT_S

The job is mark_job.c under a shell that writes its exit code down.
"""
import glob
import os
import re
import signal
import struct
import subprocess
import time

import mpi_run

LIMIT_S = 120
GONE_S = 20  # for what mpirun leaves to end by itself
THREADS = 2
HEAD = struct.Struct("<4sBBHIIIIII")
MARKER = "RKT_TEST_FOLDER"


def frames_of(path):
    """{(source, seq)} of the frames of a timeline or spool, damage skipped."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return set()
    found, at = set(), data.find(b"RKTF")
    while at >= 0:
        if at + HEAD.size > len(data):
            break
        head = HEAD.unpack_from(data, at)
        end = at + HEAD.size + head[7]
        if head[1] != 1 or end > len(data):
            at = data.find(b"RKTF", at + 1)
            continue
        found.add((head[4], head[5]))
        at = data.find(b"RKTF", end)
    return found


class FaultRun:
    def __init__(self, build, folder, ranks=3, ms=2000, rate=20000, options=(), env=()):
        self.build, self.folder, self.ranks = build, folder, ranks
        self.out = folder + "/out"
        self.problems = []
        self.code = None
        for name in ("run", "tmp", "spools"):
            os.makedirs(f"{folder}/{name}", exist_ok=True)
        job = f'"{build}/tests/mark_job" threads {THREADS} rate {rate} ms {ms} account "{folder}/account.$RANK"; ' \
              f'code=$?; echo "$code" >"{folder}/code.$RANK"; exit $code'
        run = [build + "/bin/ranktrace-run", "--no-report", *options, "-o", self.out, "--", "sh", "-c", job]
        # The supervisor's and the sidecar's words go to a file of their own, and not through mpirun.
        wrapper = f'exec "$@" 2>"{folder}/err.$OMPI_COMM_WORLD_RANK"'
        self.env = dict(os.environ, TMPDIR=folder + "/tmp", XDG_RUNTIME_DIR=folder + "/run",
                        RANKTRACE_SPOOL_DIR=folder + "/spools", RANKTRACE_LOG="warn,send:debug")
        self.env.update(env)
        self.env[MARKER] = folder
        self.command = mpi_run.mpirun(ranks) + ["sh", "-c", wrapper, "sh"] + run

    # ---- while it runs ----

    def start(self):
        self.mpirun_err = open(self.folder + "/mpirun_err", "w")
        self.begin = time.monotonic()
        self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=self.mpirun_err, stderr=self.mpirun_err, start_new_session=True)
        return self

    def is_over(self):
        return self.process.poll() is not None or time.monotonic() - self.begin > LIMIT_S

    def find(self, name, rank):
        """The process of that command name on that rank, once it is there; None when the run ends before."""
        while not self.is_over():
            pid = mpi_run.by_rank(self.process.pid, name).get(rank)
            if pid:
                return pid
            time.sleep(0.003)
        return None

    def marks(self, rank):
        return mpi_run.marks_of(f"{self.folder}/account.{rank}")

    def wait_for(self, is_so):
        while not is_so() and not self.is_over():
            time.sleep(0.005)

    def wait(self):
        if self.code is not None:
            return self.code
        try:
            self.code = self.process.wait(max(1, LIMIT_S - (time.monotonic() - self.begin)))
        except subprocess.TimeoutExpired:
            self.problems.append("hang: " + "; ".join(self.who_is_left()))
            self.kill_all()
            self.code = self.process.wait()
        self.seconds = time.monotonic() - self.begin
        return self.code

    # ---- afterwards ----

    def own_processes(self):
        """Of this run, whoever their parent is by now."""
        mark = f"{MARKER}={self.folder}"
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid() and
                mark in mpi_run.read_text(f"/proc/{pid}/environ").split("\0")]

    def who_is_left(self):
        return [mpi_run.read_text(f"/proc/{pid}/cmdline").replace("\0", " ")[:120] + f" ({pid})"
                for pid in self.own_processes()]

    def kill_all(self):
        for pid in self.own_processes():
            mpi_run.kill(pid, signal.SIGKILL)

    def said(self, rank=None):
        ranks = range(self.ranks) if rank is None else [rank]
        return "".join(mpi_run.read_text(f"{self.folder}/err.{one}") for one in ranks)

    def text(self):
        """What all said, without the lines for each frame."""
        lines = (self.said() + mpi_run.read_text(self.folder + "/mpirun_err")).splitlines()
        return "\n".join(line for line in lines if "comp=send " not in line)

    def job_code_of(self, rank):
        text = mpi_run.read_text(f"{self.folder}/code.{rank}").strip()
        return int(text) if text else None

    def summary(self, path):
        out = subprocess.run([self.build + "/tests/store_summary", path], capture_output=True, text=True).stdout
        return {"run": next(iter(out.splitlines()), ""), "lines": out}

    def rank_of_store(self, summary, rank):
        """(marks, lost, end) of the main process of a rank; None where there is none."""
        found = re.search(rf"role=rank rank={rank} .* marks=(\d+) lost=(\d+) .* end=(\w+)", summary["lines"])
        return (int(found[1]), int(found[2]), found[3]) if found else None

    def spools(self):
        return sorted(name for name in os.listdir(self.folder + "/spools"))

    def check(self, is_so, text):
        if not is_so:
            self.problems.append(text)

    def check_code(self, codes):
        """mpirun's. Its own crash after all is done is not ours, and told apart by its words (README)."""
        self.mpirun_crashed = self.code == 128 + signal.SIGSEGV or self.code == -signal.SIGSEGV
        if self.mpirun_crashed and "PMIx_server_finalize" in mpi_run.read_text(self.folder + "/mpirun_err"):
            return
        self.check(self.code in codes, f"mpirun returned {self.code}, not {' or '.join(map(str, sorted(codes)))}")

    def report(self):
        """What `ranktrace report` says of the run as it is, in one line."""
        done = subprocess.run([self.build + "/bin/ranktrace", "report", self.out], capture_output=True, text=True)
        self.check(done.returncode == 0, "report: " + done.stderr)
        return " ".join(done.stdout.split())

    def check_acknowledged(self, timeline=None):
        """Frames that a sidecar sent, as far as they were acknowledged, are in the file."""
        stored = set()
        for path in [timeline] if timeline else glob.glob(self.out + "/timeline*.rkt"):
            stored |= frames_of(path)
        self.acked_count = 0
        for rank in range(self.ranks):
            log = self.said(rank)
            sent = re.findall(r"comp=send .*msg=\"sent\" source=(\d+) seq=(\d+)", log)
            sent = [(int(source), int(seq)) for source, seq in dict.fromkeys(sent)]
            acked = re.findall(r"comp=send .*msg=\"acknowledged\" frames=(\d+)", log)
            count = int(acked[-1]) if acked else 0
            self.acked_count += count
            missing = [frame for frame in sent[:count] if frame not in stored]
            self.check(count <= len(sent), f"rank {rank}: {count} frames acknowledged of {len(sent)} sent")
            self.check(not missing, f"rank {rank}: acknowledged, and not in the file: {missing[:5]}")

    def recover(self, *more):
        """The run with its spools as one file; its summary."""
        paths = [path for path in (self.out, self.folder + "/spools") if self.has_frames(path)]
        whole = self.folder + "/whole.rkt"
        if not paths:
            return {"run": "", "lines": ""}
        done = subprocess.run([self.build + "/bin/ranktrace", "recover", "--force", "-o", whole, *paths, *more],
                              capture_output=True, text=True)
        self.check(done.returncode == 0, "recover: " + done.stderr)
        return self.summary(whole)

    def has_frames(self, path):
        return os.path.exists(path + "/timeline.rkt") or any("ranktrace-spool-" in name for name in os.listdir(path)) \
            if os.path.isdir(path) else False

    def check_sums(self, summary, cut_ranks=()):
        """cut_ranks: those whose sidecar was killed; of theirs no more than was marked can be there."""
        for rank in range(self.ranks):
            marks, found = self.marks(rank), self.rank_of_store(summary, rank)
            if rank in cut_ranks:
                self.check(not found or found[0] <= marks + THREADS, f"rank {rank}: {marks} marks, stored {found}")
                continue
            if (found is None or found[0] == 0) and "the job runs untraced" in self.said(rank):
                continue
            total = found[0] + found[1] if found else 0
            self.check(marks <= total <= marks + THREADS,
                       f"rank {rank}: {marks} marks, stored, lost and end {found}")

    def wait_for_processes(self, limit_s=LIMIT_S):
        limit = time.monotonic() + limit_s
        while self.own_processes() and time.monotonic() < limit:
            time.sleep(0.05)

    def check_nothing_is_left(self, mpirun_was_killed=False):
        self.wait_for_processes(GONE_S)
        self.check(not self.own_processes(), "left behind: " + "; ".join(self.who_is_left()))
        self.kill_all()
        self.check(not os.listdir(self.folder + "/run"), f"sockets are left: {os.listdir(self.folder + '/run')}")
        left = [name for name in os.listdir(self.folder + "/tmp") if not (mpirun_was_killed and name.startswith("ompi."))]
        self.check(not left, f"temporary files are left: {left}")
        # Who was killed by mpirun, which then does not return 0, may have had no time to name it.
        is_said = "ranktrace recover" in self.said() or self.code != 0
        self.check(not self.spools() or is_said, f"spools that nobody names are left: {self.spools()}")

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill_all()
            self.process.wait()
        self.kill_all()
        self.mpirun_err.close()
        self.text_kept = self.text()
