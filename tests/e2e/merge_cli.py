#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranktrace merge as a user meets it: exit codes, one line per trouble, nothing half-written."""

import gzip
import json
import os
import pathlib
import pty
import resource
import signal
import subprocess
import sys
import tempfile


def trace(rank, count=400, first=1700000000000000):
    events = [{"ph": "X", "cat": "kernel", "name": f"k{i * 7919 % 1009}", "pid": 0, "tid": 7,
               "ts": first + i * 31, "dur": i * 17 % 23, "args": {"device": 0, "stream": 7, "correlation": i + 1}}
              for i in range(count)]
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank}, "traceEvents": events}).encode()


def small_files():
    """As a full disk, without one: no file may grow past 512 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


class Merge:
    def __init__(self, build, folder):
        self.program = (build / "bin" / "ranktrace-merge").resolve() # some checks run elsewhere
        self.dump = build / "tests" / "dump_work"
        self.folder = folder
        self.out = folder / "out.rkt"
        self.faults = []

    def file(self, name, content):
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def expect(self, what, code, *args, words=(), has_output=False, lines=None, **kwargs):
        done = subprocess.run([self.program, *map(str, args)], capture_output=True, text=True, **kwargs)
        said = done.stderr.splitlines()
        left = sorted(p.name for p in self.folder.iterdir() if "out.rkt" in p.name)
        wrong = [f"exit code {done.returncode}, not {code}"] if done.returncode != code else []
        wrong += [f"does not say '{word}'" for word in words if word not in done.stderr + done.stdout]
        if lines is not None and len(said) != lines:
            wrong.append(f"{len(said)} lines on stderr, not {lines}")
        if left != (["out.rkt"] if has_output else []):
            wrong.append(f"left behind: {left}")
        if wrong:
            self.faults.append(f"{what}: {'; '.join(wrong)}\n    {done.stdout}{done.stderr}")
        return done

    def work_count(self):
        out = subprocess.run([self.dump, self.out], capture_output=True, text=True, check=True).stdout
        return sum(len(line.split()) == 4 for line in out.splitlines())


def check_use(merge):
    merge.expect("no argument", 2, words=["ranktrace merge"], lines=1)
    merge.expect("an unknown option", 2, "--frce", "x", "y", words=["--force"], lines=1)
    merge.expect("help", 0, "--help", words=["TRACE", "--force", "Exit codes"], lines=0)


def check_refusals(merge):
    good = merge.file("rank0.json", trace(0))
    merge.expect("a missing file", 1, "-o", merge.out, good, merge.folder / "none.json", words=["none.json"], lines=1)
    merge.expect("a folder that is not there", 1, "-o", "/nowhere/out.rkt", good, words=["/nowhere/out.rkt"], lines=1)
    merge.expect("two traces of one rank", 2, "-o", merge.out, good, merge.file("again.json", trace(0, first=1700000000000005)),
                 words=["rank0.json", "again.json", "overlap by", "--rank FILE=N"], lines=1)
    merge.expect("no file to write", 2, "--force", good, good, words=["give the file to write", "-o OUT"], lines=1)
    merge.expect("an empty name", 2, "-o", "", good, words=["the name of the file to write (-o) is empty"], lines=1)
    merge.expect("a check that is to write", 2, "--check", "-o", merge.out, good, words=["--check writes nothing: leave out -o"], lines=1)
    merge.expect("no trace", 2, "-o", merge.out, words=["and the traces"], lines=1)
    merge.expect("an empty file", 1, "-o", merge.out, merge.file("empty.json", b""), words=["empty.json"], lines=1)
    merge.expect("a full disk", 1, "-o", merge.out, good, lines=1, preexec_fn=small_files)


def check_results(merge):
    good, other = merge.folder / "rank0.json", merge.file("rank1.json.gz", gzip.compress(trace(1)))
    merge.expect("two ranks", 0, "-o", merge.out, good, other, words=["rank 0", "rank 1", "2 ranks, 800 events"],
                 has_output=True, lines=0)
    merge.expect("an output that exists", 2, "-o", merge.out, good, words=["exists; --force overwrites it"], has_output=True, lines=1)
    done = merge.expect("quietly", 0, "--force", "--quiet", "-o", merge.out, good, other, has_output=True, lines=0)
    if done.stdout:
        merge.faults.append(f"--quiet prints {done.stdout!r}")


def check_sets(merge):
    """Copies, windows and ranks that are given by hand."""
    good, copy = merge.folder / "rank0.json", merge.file("copy.json", trace(0))
    merge.expect("a copy", 0, "--force", "-o", merge.out, good, copy, words=["copy.json: skipped", "a copy of that trace"],
                 has_output=True, lines=1)
    packed = merge.file("packed.json.gz", gzip.compress(trace(0)))
    merge.expect("a packed copy", 0, "--force", "-o", merge.out, packed, good, words=["rank0.json: skipped", "a copy of that trace"],
                 has_output=True, lines=1)
    part = merge.file("part.json.gz", gzip.compress(trace(0))[:-60])
    merge.expect("a cut copy, packed", 0, "--force", "-o", merge.out, part, good,
                 words=["part.json.gz: skipped", "rank0.json and is shorter", "1 rank, 400 events"], has_output=True, lines=1)
    few = merge.file("few.json", trace(0, 10))
    merge.expect("a part, with fewer bytes than packed", 0, "--force", "-o", merge.out, few, packed,
                 words=["few.json: skipped", "packed.json.gz and is shorter", "1 rank, 400 events"], has_output=True, lines=1)
    later = merge.file("later.json", trace(0, first=1700000001000000))
    merge.expect("a later window", 0, "--force", "-o", merge.out, good, later,
                 words=["later.json: another window of rank 0", "1 rank, 800 events"], has_output=True, lines=1)
    merge.expect("two files of rank 0, one of them given another", 0, "--force", "--rank", "again.json=1", "-o", merge.out, good,
                 merge.folder / "again.json", words=["2 ranks, 800 events", "rank from --rank"], has_output=True, lines=0)
    merge.expect("a rank that is none", 2, "--force", "--rank", "again.json=x", "-o", merge.out, good,
                 words=["'again.json=x'"], has_output=True, lines=1)
    merge.out.unlink()


def check_ranks(merge):
    """What the user says of ranks is of a file, and without contradiction; else wrong ranks would follow."""
    for name in ("rp/w0.json", "w0.json"):
        (merge.folder / name).parent.mkdir(exist_ok=True)
        merge.file(name, trace(3))

    def given(what, code, *ranks, words, inputs=("rp",), **kwargs):
        options = [word for rank in ranks for word in ("--rank", rank)]
        merge.expect(what, code, "-o", merge.out, *options, *inputs, words=words, has_output=code == 0, cwd=merge.folder, **kwargs)
        merge.out.unlink(missing_ok=True)

    given("a rank of no file", 2, "nope.json=1", words=["--rank nope.json=1: no such file among those given"], lines=1)
    given("a part of a name", 2, "0.json=1", words=["--rank 0.json=1: no such file"], lines=1)
    for name in ("./rp/w0.json", "rp/w0.json", "rp//w0.json", "rp/./w0.json", "w0.json"):
        given(name, 0, f"{name}=5", words=["rank 5 ", "rank from --rank"], lines=0)
        given(f"./rp, {name}", 0, f"{name}=5", words=["rank 5 ", "rank from --rank"], inputs=("./rp/",), lines=0)
    given("from the root, as it is not given", 2, "/rp/w0.json=5", words=["no such file"], lines=1)
    given("a path is stronger than a name", 0, "w0.json=1", "rp/w0.json=6", words=["rank 1 ", "rank 6 "], inputs=("w0.json", "rp"), lines=1)
    given("the same twice", 0, "w0.json=5", "w0.json=5", words=["rank 5 "], lines=0)
    given("two ranks for a file", 2, "w0.json=1", "w0.json=2", words=["--rank w0.json=1 and --rank w0.json=2: two ranks for rp/w0.json"], lines=1)
    given("two ranks for a path", 2, "rp/w0.json=1", "./rp/w0.json=2", words=["two ranks for rp/w0.json"], lines=1)
    given("two ranks, by path and by name", 2, "w0.json=1", "rp/w0.json=2", words=["two ranks for rp/w0.json"], lines=1)
    for number in ("2147483648", "99999999999999999999999"):
        given("a large rank", 2, f"w0.json={number}", words=[f"'w0.json={number}': the rank is too large: at most 2147483647"], lines=1)
    given("no rank", 2, "w0.json=-1", words=["look like x.json=3"], lines=1)

    def by_regex(what, regex, words, lines):
        merge.expect(what, 0, "--check", "--rank-regex", regex, "rp", words=words, cwd=merge.folder, lines=lines)

    by_regex("an expression that fits", "w([0-9]+)", [], 0)
    by_regex("an expression that matches nothing", "proc([0-9]+)", ["--rank-regex 'proc([0-9]+)' gave no rank: it matches no file's path"], 1)
    by_regex("an expression that matches no number", "(w[0-9])", ["gave no rank: what it matches, 'w0', is no number"], 1)


def check_check(merge):
    """--check says what is damaged, where, and writes nothing."""
    text = trace(0, 5)
    at = text.index(b'{"ph"', 200)
    bad = merge.file("bad.json", text[:at + 15] + b'"' + text[at + 16:])
    merge.expect("a damaged file", 1, "--check", bad, words=[f"from byte {at} of the JSON on, 1 event", "5 read = 4 stored",
                                                            "1 rejected"], lines=1)
    merge.expect("a whole file", 0, "--check", merge.folder / "rank0.json", words=["400 read = 400 stored"], lines=0)
    merge.expect("no file", 2, "--check", words=["give the traces to check"], lines=1)


def check_lines(merge):
    """One event a line, as some loggers write: none is lost, and nothing is damaged."""
    events = json.loads(trace(0))["traceEvents"]
    lines = merge.file("lines.json", "".join(json.dumps(event) + "\n" for event in events).encode())
    merge.expect("one event a line", 0, "--check", lines, words=["400 read = 400 stored", "note: one event a line"], lines=1)
    merge.expect("one event a line, written", 0, "-o", merge.out, lines, words=["1 rank, 400 events"], has_output=True, lines=1)
    merge.out.unlink(missing_ok=True)


def check_names(merge):
    """Names and hosts are shown without what a terminal obeys; what is not ASCII stays."""
    files = [merge.file(f"na\nme\x1b]0;t\a\u009b2J \u00e9{rank}.json", named) for rank, named in enumerate(
        trace(rank).replace(b'"schemaVersion"', b'"host_name": "ho\\nst\\u001b[31m", "schemaVersion"') for rank in range(2))]
    word = "na?me?]0;t???2J \u00e90.json"
    said = [merge.expect("a name with control characters", 0, "--force", "-o", merge.out, *files, words=[word], has_output=True),
            subprocess.run([merge.program.with_name("ranktrace-info"), merge.out], capture_output=True, text=True),
            subprocess.run([merge.program.with_name("ranktrace-align"), merge.out], capture_output=True, text=True)]
    merge.out.unlink()
    said.append(merge.expect("a check of such a name", 0, "--check", *files, words=[word]))
    cut = merge.file("cu\nt\x1b.json", trace(0)[:-40])
    said.append(merge.expect("a cut one", 1, "--check", cut, words=["ranktrace merge: ", "cu?t?.json"], lines=1))
    for name, done in zip(("merge", "info", "align", "check", "cut"), said):
        if any(not (char.isprintable() or char == "\n") for char in done.stdout + done.stderr) or "\nme" in done.stdout:
            merge.faults.append(f"{name}: control characters: {done.stdout!r}{done.stderr!r}")
    if word not in said[1].stdout:
        merge.faults.append(f"info does not say {word}: {said[1].stdout}")


def check_progress(merge):
    """On a terminal a line says how far it is; the line is gone at the end, and never there elsewhere."""
    master, slave = pty.openpty()
    slow, quick = merge.folder / "rank5.json", merge.file("rank6.json", trace(6))
    os.mkfifo(slow)
    child = subprocess.Popen([merge.program, "--force", "-o", merge.out, quick, slow], stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    text, shown = trace(5), b""
    with open(slow, "wb", buffering=0) as out:
        out.write(text[:len(text) // 2])
        while b"left" not in shown: # the writer waits for the line, not for a time
            shown += os.read(master, 4096)
        out.write(text[len(text) // 2:])
    child.communicate()
    try:
        while chunk := os.read(master, 4096):
            shown += chunk
    except OSError: # the other end is closed
        pass
    os.close(master)
    slow.unlink()
    if child.returncode != 0 or b"%" not in shown or b"/s" not in shown or b"\r\x1b[Kranktrace merge: 5 of 7 ranks" not in shown:
        merge.faults.append(f"on a terminal: exit code {child.returncode}, {shown!r}")
    merge.out.unlink(missing_ok=True)


def check_damage(merge):
    """What was readable is there, what was not is said, and the exit code is not 0."""
    whole = gzip.compress(trace(1))
    cut = merge.file("rank1.json.gz", whole[:len(whole) // 2])
    merge.expect("a cut .gz", 1, "--force", "-o", merge.out, merge.folder / "rank0.json", cut,
                 words=["rank1.json.gz", f"byte {len(whole) // 2}"], has_output=True, lines=1)
    if not 400 < merge.work_count() < 800:
        merge.faults.append(f"a cut .gz: {merge.work_count()} pieces of work")
    plain = trace(2)
    cut = merge.file("rank2.json", plain[:len(plain) // 2])
    merge.expect("a cut .json", 1, "--force", "-o", merge.out, cut, words=["rank2.json", "cut"], has_output=True, lines=1)
    if not 150 < merge.work_count() < 250:
        merge.faults.append(f"a cut .json: {merge.work_count()} pieces of work")


def main():
    build = pathlib.Path(sys.argv[1])
    if not (build / "bin" / "ranktrace-merge").exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        merge = Merge(build, pathlib.Path(folder))
        for check in (check_use, check_refusals, check_check, check_names, check_results, check_sets, check_ranks, check_lines, check_progress, check_damage):
            check(merge)
    for fault in merge.faults:
        print(fault)
    return 1 if merge.faults else 0


if __name__ == "__main__":
    sys.exit(main())
