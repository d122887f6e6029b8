#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job in bad surroundings runs to its end with its own exit code, and one line says what is not traced.

Each row is a way to be broken: a library, a socket, a limit, a sidecar that lies. The capture library may
say one line at most in each process, and it must say the words of the row; a row without words must be silent.
"""
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

BUILD = os.path.abspath(sys.argv[1] if sys.argv[1] != "--flood" else sys.argv[2] + "/../..")
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
MARK_JOB = BUILD + "/tests/mark_job"
DENY = BUILD + "/tests/deny"
JOB_CODE = 23
MARKS = 800
JOB = [MARK_JOB, "threads", "4", "rate", "4000", "ms", str(MARKS // 4), "exit", str(JOB_CODE)]
TRAIN = [BUILD + "/simgpu/simgpu_train", "--steps", "5", "--layers", "4", "--compute-us", "200"]
DEADLINE_S = 60
HELLO_MAGIC = 0x524B5448
REGION_ABI = int(re.search(r"#define RKT_REGION_ABI (\d+)u", open(
    os.path.dirname(os.path.abspath(__file__)) + "/../../agent/region.h").read())[1])
SANITIZER = re.search(r"^RKT_SANITIZE:STRING=(.*)$", open(BUILD + "/CMakeCache.txt").read(), re.M)[1]


class Row:
    """One job and what is expected of it."""

    def __init__(self, what, says=None, job=None, code=JOB_CODE, marks=MARKS, env=None, limit=None,
                 prefix=(), alone=False, sidecar=None, job_limit="", is_root=False, more=None):
        self.what = what
        self.says = says  # words of capture's one line; None: nothing is said
        self.job = list(job or JOB)
        self.code = code
        self.marks = marks  # that must be stored; None: whatever
        self.env = env or {}
        self.limit = limit  # called in the first process
        self.prefix = list(prefix)
        self.alone = alone  # without 'ranktrace run'
        self.sidecar = sidecar  # who listens at RANKTRACE_SOCKET instead
        self.job_limit = job_limit  # shell words before the job
        self.is_root = is_root  # needs a namespace of its own
        self.more = more  # what else must hold of stderr: returns what does not, or None

    def command(self, folder):
        job = self.job
        if self.job_limit:
            job = ["sh", "-c", self.job_limit + '; exec "$@"', "sh"] + job
        if self.alone:
            return self.prefix + job
        return self.prefix + [BUILD + "/bin/ranktrace", "run", "--no-report", "-o", folder + "/out",
                              "--"] + job


# ---- sidecars that lie ----

def welcome(accepted=1, abi=REGION_ABI, reason=b"", size=None):
    text = struct.pack("<IIII128s", HELLO_MAGIC, abi, accepted, 0, reason)
    return text.ljust(size or WELCOME_BYTES, b"\0")


def welcome_bytes():
    """As the compiler lays it out."""
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/size"
        with open(program + ".c", "w") as source:
            source.write('#include <stdio.h>\n#include "agent/hello.h"\n'
                         'int main(void) { return printf("%zu", sizeof(struct rkt_welcome)) < 0; }\n')
        root = os.path.dirname(os.path.abspath(__file__)) + "/../.."
        subprocess.run(["cc", "-std=gnu11", "-I", root, program + ".c", "-o", program], check=True)
        return int(subprocess.run([program], capture_output=True, check=True).stdout)


def answer(message, descriptor=None):
    def serve(listener):
        connection, _ = listener.accept()
        connection.recv(4096)
        if message is not None:
            control = []
            if descriptor is not None:
                fd = descriptor()
                control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))]
            connection.sendmsg([message], control)
        return connection
    return serve


def memfd(content):
    def make():
        fd = os.memfd_create("test")
        os.write(fd, content)
        return fd
    return make


def hang_up(listener):
    connection, _ = listener.accept()
    connection.close()


def say_nothing(listener):
    return listener.accept()[0]  # kept open by the caller


# ---- limits ----

def close_standard_files():
    for fd in (0, 1, 2):
        os.close(fd)


def limit(name, value):
    return lambda: resource.setrlimit(name, (value, value))


def fake_library(folder, name, content=None, copy_of=None):
    path = f"{folder}/{name}"
    if copy_of:
        shutil.copy(copy_of, path)
    else:
        with open(path, "wb") as f:
            f.write(content)
    return path


def rows(work):
    simgpu = BUILD + "/simgpu"
    os.makedirs(work + "/text")
    os.makedirs(work + "/other")
    fake_library(work + "/text", "libcupti.so.13", b"this is no library\n")
    fake_library(work + "/other", "libcupti.so.13", copy_of=simgpu + "/libnccl.so.2")
    fake_library(work, "plain-file", b"x")
    os.mkdir(work + "/folder")
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.bind(work + "/stream")
    stream.listen()
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    dead.bind(work + "/dead")
    dead.close()
    globals()["STREAM"] = stream

    def at(path):
        return {"RANKTRACE_SOCKET": path}

    def train(what, says, library_path=None, **env):
        if library_path:
            env["LD_LIBRARY_PATH"] = library_path + ":" + simgpu
        return Row(what, says, job=TRAIN, code=0, marks=None, env=env)

    yield Row("nothing is wrong")
    yield train("a GPU job with nothing wrong", None)
    # libcupti
    yield train("libcupti is a text file", "no libcupti.so was found", work + "/text")
    yield train("libcupti is another library", "libcupti.so is older", work + "/other")
    yield train("another tool has the one subscription", None, SIMGPU_CUPTI_MODE="busy")
    yield train("CUPTI sees no GPU", None, SIMGPU_CUPTI_MODE="no-gpu")
    yield train("an old CUPTI", None, SIMGPU_CUPTI_VERSION="18")
    yield train("every stamp of CUPTI is 0", None, SIMGPU_CUPTI_ZERO_EVERY="1")
    for mode in ["not-initialized", "errors", "late,unordered", "empty", "stale-names", "endless", "misaligned",
                 "beyond", "no-record", "too-valid"]:
        yield train(f"CUPTI does wrong: {mode}", None, SIMGPU_CUPTI_MODE=mode)
    for version in ["2.26.2", "2.27.3", "2.29.7", "2.31.2"]:
        yield train(f"NCCL {version}", None, SIMGPU_NCCL_VERSION=version)
    for mode in ["net,pxn", "early-stop", "zero-stop"]:
        yield train(f"NCCL does wrong: {mode}", None, SIMGPU_NCCL_MODE=mode, RANKTRACE_NCCL="proxy")
    # the socket
    yield Row("no socket", None, alone=True, env={}, marks=None)
    yield Row("an empty socket path", None, alone=True, env=at(""), marks=None)
    yield Row("a socket path that is too long", "socket path of 300 bytes", alone=True,
              env=at("/" + 299 * "x"), marks=None)
    yield Row("a socket path to nothing", "No such file", alone=True, env=at(work + "/none"), marks=None)
    yield Row("a socket path to a file", "cannot reach the sidecar", alone=True,
              env=at(work + "/plain-file"), marks=None)
    yield Row("a socket path to a folder", "cannot reach the sidecar", alone=True,
              env=at(work + "/folder"), marks=None)
    yield Row("a socket of another kind", "cannot reach the sidecar", alone=True,
              env=at(work + "/stream"), marks=None)
    yield Row("a socket where nobody listens", "Connection refused", alone=True,
              env=at(work + "/dead"), marks=None)
    # the sidecar
    lies = [
        ("hangs up", hang_up, "the sidecar: "),
        ("says nothing", say_nothing, "no answer from the sidecar"),
        ("sends other bytes", answer(b"hello"), "is no welcome"),
        ("sends an empty message", answer(b""), "hung up"),
        ("is of another ABI", answer(welcome(abi=REGION_ABI + 1)), f"has ABI {REGION_ABI + 1}"),
        ("refuses", answer(welcome(accepted=0, reason=b"too many")), "too many"),
        ("sends no memory", answer(welcome()), "no shared memory"),
        ("sends an empty file", answer(welcome(), memfd(b"")), "not a region"),
        ("sends a file of other content", answer(welcome(), memfd(4096 * b"x")), "not a region"),
        ("sends a pipe", answer(welcome(), lambda: os.pipe()[0]), "not a region"),
        ("sends a region of another ABI",
         answer(welcome(), memfd(struct.pack("<II", 0x524B5247, REGION_ABI + 1) + bytes(4096))), "ABI"),
        ("sends a region that is too short",
         answer(welcome(), memfd(region_head() + bytes(4096))), "region"),
    ]
    for what, serve, says in lies:
        yield Row("a sidecar that " + what, says, alone=True, sidecar=serve, marks=None)
    # others at the sidecar's socket
    yield Row("processes that are no library of ours", None, more=check_refusals,
              job=[sys.executable, os.path.abspath(__file__), "--flood"] + JOB)
    yield Row("a second sidecar at the same socket", None, more=has_words("cannot listen at"), job=[
        "sh", "-c", f'"{BUILD}/bin/ranktrace-sidecar" --control-fd 0 --socket "$RANKTRACE_SOCKET" '
        f'-o "{work}" </dev/null; exec "$@"', "sh"] + JOB)
    # limits of the job
    if not SANITIZER:  # which need more themselves
        yield Row("too little address space for the rings", "cannot map", marks=0,
                  job_limit="ulimit -s 256; ulimit -v 70000")
        yield Row("no descriptor is left", "Too many open files", marks=0, job=JOB + ["files", "3"])
    yield Row("the standard files are closed", None, job_limit="exec <&- >&- 2>&-")
    yield Row("no core, no file", None, job_limit="ulimit -c 0; ulimit -f 0")
    # limits of all
    yield Row("all files are limited to 8 KiB", "File too large", limit=limit(resource.RLIMIT_FSIZE, 8192), marks=0)
    yield Row("the job may make no socket", "cannot make a socket", prefix=[DENY, "socket"], alone=True,
              env=at(work + "/none"), marks=None)
    yield Row("the sidecar may make no shared memory", "memfd_create", prefix=[DENY, "memfd_create"],
              marks=0)
    for size in ("4k", "64k"):
        yield Row(f"/dev/shm of {size}", None, is_root=True, prefix=[
            "unshare", "-m", "sh", "-c",
            f'mount -t tmpfs -o size={size} none /dev/shm && dd if=/dev/zero of=/dev/shm/full bs=1k '
            '2>/dev/null; exec "$@"', "sh"])


def region_head():
    """A head that is right, for rings that the file has no room for."""
    return struct.pack("<8I", 0x524B5247, REGION_ABI, 64, 192, 1024, 1 << 20, 64 << 20, 0)


# ---- others at the sidecar's socket ----

FLOOD = 300


def flood(command):
    """In the job's place: greets the sidecar wrongly, many times, then becomes the job."""
    greetings = [b"", b"x", b"hello, sidecar", struct.pack("<II", HELLO_MAGIC, REGION_ABI + 1),
                 struct.pack("<II", HELLO_MAGIC, REGION_ABI + 1) + bytes(4000),
                 struct.pack("<III", HELLO_MAGIC, REGION_ABI, 64), os.urandom(512)]
    for i in range(FLOOD):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(os.environ["RANKTRACE_SOCKET"])
            connection.send(greetings[i % len(greetings)])
            connection.recv(4096)  # the refusal
    os.execv(command[0], command)


def check_refusals(stderr):
    counts = [int(count) for count in
              re.findall(r'msg="a process could not connect" .* count=(\d+)', stderr)]
    seconds = max(float(stamp) for stamp in re.findall(r"ts=([0-9.]+)", stderr))
    if sum(counts) != FLOOD:
        return f"{sum(counts)} refusals were said, not {FLOOD}"
    return f"{len(counts)} lines in {seconds} s" if len(counts) > seconds + 2 else None


def has_words(words):
    return lambda stderr: None if words in stderr else f"nothing said '{words}'"


# ---- running ----

def run(row, work):
    folder = tempfile.mkdtemp(dir=work)
    env = {name: value for name, value in os.environ.items()
           if not re.match(r"OMPI_|PMIX_|RANKTRACE_|SLURM_|SIMGPU_|RANK$|WORLD_SIZE$", name)}
    env["LD_LIBRARY_PATH"] = BUILD + "/simgpu"
    env["XDG_RUNTIME_DIR"] = folder
    if row.alone:
        env["CUDA_INJECTION64_PATH"] = BUILD + "/lib/libranktrace.so"
    env.update(row.env)
    kept = []
    if row.sidecar:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(folder + "/socket")
        listener.listen()
        env["RANKTRACE_SOCKET"] = folder + "/socket"
        threading.Thread(target=lambda: kept.append(row.sidecar(listener)), daemon=True).start()
    # pipes, not files: a limit of file sizes is not for them
    process = subprocess.Popen(row.command(folder), env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=row.limit)
    try:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return f"still running after {DEADLINE_S} s", ""
    return check(row, process.returncode, stderr, folder), stderr


def check(row, code, stderr, folder):
    lines = [line for line in stderr.splitlines() if " comp=capture " in line]
    if code != row.code:
        return f"exit code {code}, not {row.code}"
    if row.says is None and lines:
        return "capture spoke"
    if len(lines) > 1:
        return f"capture said {len(lines)} lines"
    if row.says and not (lines and row.says in lines[0]):
        return f"capture did not say '{row.says}'"
    if row.marks is not None:
        stored = stored_marks(folder)
        if stored != row.marks:
            return f"{stored} marks are stored, not {row.marks}"
    return row.more(stderr) if row.more else None


def stored_marks(folder):
    summary = subprocess.run([BUILD + "/tests/store_summary", folder + "/out/timeline.rkt"],
                             capture_output=True, text=True).stdout
    found = re.search(r"role=rank rank=0 .* marks=(\d+)", summary)
    return int(found[1]) if found else None


def can_mount():
    return subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"],
                          capture_output=True).returncode == 0


def main():
    if sys.argv[1] == "--flood":
        return flood(sys.argv[2:])
    failures = count = 0
    mounts = can_mount()
    with tempfile.TemporaryDirectory(prefix="rkt_bad.") as work:
        for row in rows(work):
            if ONLY not in row.what:
                continue
            if row.is_root and not mounts:
                print(f"skipped: {row.what}: it needs a mount of its own (unshare -m)")
                continue
            problem, stderr = run(row, work)
            if problem is None or row.code == 77:
                count += 1
                continue
            failures += 1
            print(f"FAILED: {row.what}: {problem}\n    " + stderr.replace("\n", "\n    "), flush=True)
    print(f"{count} rows passed, {failures} failed")
    return failures > 0


WELCOME_BYTES = welcome_bytes() if sys.argv[1] != "--flood" else 0
sys.exit(main())
