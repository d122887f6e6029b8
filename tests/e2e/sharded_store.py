#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run in a file per node, and the same run in one file: every command says the same of both.

    sharded_store.py BUILD_FOLDER

Then with one of the files missing, cut, foreign, none at all: that is said, and the rest is as it was.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import zlib

BUILD = pathlib.Path(sys.argv[1])
RANKTRACE = BUILD / "bin" / "ranktrace"
SCENARIO = ["ranks=16", "nodes=8", "steps=10", "clock-offset=5ms", "clock-drift-ppb=20000",
            "fault = slow-compute rank=5 amount=8ms"]
SHARDS = 7
LOST_NODE = 2  # ranks 4 and 5

failures = []


def check(what, got, want):
    got, want = repr(got), repr(want)
    if got != want:
        at = len(os.path.commonprefix([got, want]))
        failures.append(f"{what}: at {at} ...{got[max(at - 80, 0):at + 80]}, not ...{want[at:at + 80]}")


def run(*words, code=0, limit=None):
    """What the command printed, both ways, as one text."""
    ended = subprocess.run([RANKTRACE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit,
                           check=False)
    text = ended.stdout.decode()
    check(f"exit code of {' '.join(map(str, words))}", (ended.returncode, text if ended.returncode != code else ""),
          (code, ""))
    return text


def simulate(path, *options, scenario=SCENARIO):
    run("simulate", "-o", path, *options, *[word for line in scenario for word in ("--set", line)])


def shard_of(folder, node):
    return next(folder.glob(f"timeline-*-{2 * node}.rkt"))


def info(path, code=0):
    return json.loads(run("info", "--format", "json", path, code=code))


def of_shards(value):
    """The sources of an info that are in shards, less what tells of their ALIGN frames, which are in the index file."""
    less = ("clock_is_stored", "frames", "packed_bytes", "raw_bytes")
    return [{key: of for key, of in source.items() if key not in less}
            for source in value["sources"] if source["host"] != "node0"]


def without_paths(value, *more):
    """An info, less what differs by how the run is stored."""
    health = {key: number for key, number in value["health"].items() if key not in ("file_bytes", "shards", *more)}
    return {**value, "file": "", "shards": [], "health": health}


def report_of(path, **how):
    """The JSON report, less how many files there are."""
    report = json.loads(run("report", "--format", "json", path, **how))
    report["run"].pop("shard_count")
    return report


def compare_outputs(one, many, folder):
    check("report", run("report", many), run("report", one))
    check("report in JSON", report_of(many), report_of(one))
    check("export", run("export", many), run("export", one))
    check("info", without_paths(info(many)), without_paths(info(one)))
    of_shards = info(many)["shards"]
    check("number of shards", len(of_shards), SHARDS)
    check("bytes", info(many)["health"]["file_bytes"],
          many.stat().st_size + sum(shard_of(folder, node).stat().st_size for node in range(1, 8)))
    for node, shard in enumerate(of_shards, 1):
        check("a shard", shard, {
            "file": shard_of(folder, node).name, "host": f"node{node}", "rank": 2 * node, "is_read": True,
            "is_complete": True, "file_bytes": shard_of(folder, node).stat().st_size, "problem": ""})
    text = run("info", many)
    check("info says how many shards", "shards    7 further files" in text, True)
    check("info says nothing of whole shards", "timeline-" in text, False)


def compare_recovered(one, many, folder):
    clean = folder / "clean.rkt"
    run("recover", "-o", clean, many)
    check("info of the recovered", without_paths(info(clean)), without_paths(info(one)))
    check("the recovered", run("report", clean), run("report", one))
    shard = shard_of(folder, 1)
    before = shard.read_bytes()
    text = run("recover", "--force", "-o", shard, many, code=2)
    check("recover over a shard", "is to be recovered" in text and shard.read_bytes() == before, True)


def look_at_part(many, folder):
    part = shard_of(folder, 1)
    check("info says what a part is", "one of the run's files" in run("info", part), True)
    check("a part in JSON", info(part)["run"]["is_part"], True)
    check("the whole in JSON", info(many)["run"]["is_part"], False)
    check("ids", info(part)["run"]["id"], info(many)["run"]["id"])
    report = run("report", part)
    check("a report of a part says so", "this is one of the run's files" in report, True)
    check("and which ranks are missing", "14 of 16 ranks are missing (0 to 1, 4 to 15)" in report, True)


def spoil(shard, how, folder):
    if how == "missing":
        shard.unlink()
    elif how == "renamed":
        shard.rename(folder / "timeline.1.rkt")
    elif how == "empty":
        shard.write_bytes(b"")
    elif how == "text":
        shard.write_text("not a store")
    elif how == "of another run":
        shutil.copy(shard_of(folder / "other", LOST_NODE), shard)
    elif how == "of another version":
        data = bytearray(shard.read_bytes())
        data[4] = 2
        data[28:32] = zlib.crc32(data[:28]).to_bytes(4, "little")
        shard.write_bytes(data)


WORDS = {
    "missing": "No such file or directory",
    "renamed": "No such file or directory",
    "empty": "it is empty",
    "text": "is no ranktrace store",
    "of another run": "it is of another run",
    "of another version": "format version 2; this ranktrace reads version 1",
}


def lose_one(how, many, folder):
    shard = shard_of(folder, LOST_NODE)
    name, data = shard.name, shard.read_bytes()
    spoil(shard, how, folder)
    said = info(many, code=1)
    check(f"{how}: unread", said["health"]["unread_shards"], 1)
    check(f"{how}: the others", [entry["file"] for entry in said["shards"] if not entry["is_read"]], [name])
    check(f"{how}: why", WORDS[how] in said["shards"][LOST_NODE - 1]["problem"], True)
    lines = [line for line in run("info", many, code=1).splitlines() if name in line and "is left out: " in line]
    check(f"{how}: one line", len(lines), 1)
    check(f"{how}: frames that are missing are counted", said["health"]["missing_frames"] > 10, True)
    report = " ".join(run("report", many).split())
    check(f"{how}: report's head", "INCOMPLETE: 1 of the 7 files" in report, True)
    check(f"{how}: report's note", f"file {name} of node2 is left out:" in report, True)
    check(f"{how}: report's ranks", "2 of 16 ranks are missing (4 to 5)" in report, True)
    check(f"{how}: report's clock", "clock: aligned" in report, True)
    out = folder / "export.json"
    warned = run("export", "-o", out, many)
    exported = json.loads(out.read_text())
    check(f"{how}: export", len(exported["traceEvents"]) > 1000, True)
    check(f"{how}: export's warning", f"warning: file {name} of node2 is left out:" in warned, True)
    check(f"{how}: warning in the export", any(name in line for line in exported["otherData"]["warnings"]), True)
    text = run("recover", "--force", "-o", folder / "clean.rkt", many)
    check(f"{how}: recover", "1 files of the run left out" in text, True)
    shard.write_bytes(data)


def cut_one(one, many, folder):
    shard = shard_of(folder, LOST_NODE)
    data = shard.read_bytes()
    shard.write_bytes(data[:-100])
    said = info(many)
    check("cut: not complete", (said["health"]["is_complete"], said["shards"][LOST_NODE - 1]["is_complete"]),
          (False, False))
    check("cut: events", said["totals"]["event_count"], info(one)["totals"]["event_count"])
    check("cut: info", f"{shard.name} of node2 is not finished" in run("info", many), True)
    check("cut: report", "INCOMPLETE: the timeline was not closed" in run("report", many), True)
    clean = folder / "clean.rkt"
    run("recover", "--force", "-o", clean, many)
    check("cut: recovered", run("report", clean), run("report", one))
    shard.write_bytes(data[:len(data) // 2])
    check("cut: frames are missing", info(many, code=1)["health"]["missing_frames"] > 0, True)
    shard.write_bytes(data)


def lose_index(one, folder):
    """Every shard is a store, so what is in them is there without the file that names them."""
    lost = folder / "lost"
    lost.mkdir()
    for node in range(1, 8):
        shutil.copy(shard_of(folder, node), lost)
    for command in "info", "report":
        text = run(command, lost, code=1)
        check(f"{command} says what is there", f"but {SHARDS} shards and 0 spools of its folder are" in text, True)
    run("recover", "-o", folder / "parts.rkt", lost)
    parts = info(folder / "parts.rkt")
    check("without the index file", parts["run"]["is_part"], False)
    whole = info(one)
    check("its sources", of_shards(parts), of_shards(whole))
    shutil.copy(shard_of(folder / "other", 1), lost)
    text = run("recover", "-o", folder / "two.rkt", lost, code=2)
    check("files of two runs", "files of several runs" in text, True)


def read_thousand(folder):
    """More files than the process may open."""
    few = ["ranks=1000", "nodes=1000", "steps=2", "forward-kernels=2", "backward-kernels=4", "optimizer-kernels=1",
           "buckets=1"]
    one, many = folder / "one.rkt", folder / "timeline.rkt"
    simulate(one, scenario=few)
    simulate(many, "--store", "sharded", scenario=few)
    check("files", len(list(folder.iterdir())), 1001)

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    check("a thousand files", report_of(folder, limit=limit), report_of(one))
    text = run("info", folder, limit=limit)
    check("999 shards", "shards    999 further files" in text and "left out" not in text, True)
    run("recover", "-o", folder / "clean.rkt", folder, limit=limit)
    check("a thousand in one", without_paths(info(folder / "clean.rkt")), without_paths(info(one)))
    many.unlink()
    run("recover", "--force", "-o", folder / "clean.rkt", folder, limit=limit)
    check("a thousand without their index file", of_shards(info(folder / "clean.rkt")), of_shards(info(one)))


def use_wrongly(folder):
    """Nothing is left behind, and nothing is overwritten without being told to."""
    check("an unknown store", "single and sharded" in run("simulate", "--store", "many", code=2), True)
    broken = folder / "broken"
    broken.mkdir()
    simulate(broken / "timeline.rkt", "--store", "sharded")
    last = shard_of(broken, 7).name
    for path in broken.iterdir():
        path.unlink()
    (broken / last).write_text("of another timeline")
    words = [word for line in SCENARIO for word in ("--set", line)]
    run("simulate", "-o", broken / "timeline.rkt", "--store", "sharded", *words, code=2)
    check("what is left of it", [(path.name, path.read_text()) for path in broken.iterdir()],
          [(last, "of another timeline")])
    simulate(broken / "timeline.rkt", "--store", "sharded", "--force")
    check("with --force all are written", len(os.listdir(broken)), 1 + SHARDS)
    for path in broken.iterdir():
        path.unlink()
    (broken / last).mkdir()  # which no file replaces
    run("simulate", "-o", broken / "timeline.rkt", "--store", "sharded", "--force", *words, code=2)
    check("what a failure leaves", os.listdir(broken), [last])


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one, many = folder / "one.rkt", folder / "timeline.rkt"
        simulate(one)
        simulate(many, "--store", "sharded")
        (folder / "other").mkdir()
        simulate(folder / "other" / "timeline.rkt", "--store", "sharded", scenario=[*SCENARIO, "seed=2"])
        compare_outputs(one, many, folder)
        compare_recovered(one, many, folder)
        look_at_part(many, folder)
        for how in WORDS:
            lose_one(how, many, folder)
        cut_one(one, many, folder)
        lose_index(one, folder)
        compare_outputs(one, many, folder)
        use_wrongly(folder)
        (folder / "thousand").mkdir()
        read_thousand(folder / "thousand")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
