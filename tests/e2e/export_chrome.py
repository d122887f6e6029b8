#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces go through merge and export --format chrome; an independent check holds what comes out.

Always the small traces of tests/data/kineto; the public ones where they are.
"""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_chrome

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = ROOT.parent / "shared" / "data"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def gpu_work(build, store):
    return sum(len(line.split()) == 4 for line in run(build / "tests" / "dump_work", store).splitlines())


def check_set(build, files, folder):
    store, out = folder / "timeline.rkt", folder / "out.json"
    run(build / "bin" / "ranktrace-merge", "--quiet", "--force", "-o", store, *files)
    run(build / "bin" / "ranktrace-export", "--format", "chrome", "-o", out, store)
    text = out.read_text(encoding="utf-8")
    if run(build / "bin" / "ranktrace-export", store) != text:
        sys.exit(f"{files[0]}: to a file and to standard output it is not the same")
    doc, wrong, summary = check_chrome.check(text)
    shown = sum(e.get("cat") in ("compute", "comm", "copy") and e["ph"] == "X" for e in doc["traceEvents"])
    if shown != gpu_work(build, store):
        wrong.append(f"{shown} pieces of GPU work are shown, not {gpu_work(build, store)}")
    print(f"{files[0].parent.name}/{files[0].name}: {summary}, {len(wrong)} faults")
    for line in wrong[:10]:
        print(f"    {line}")
    return len(wrong)


def check_failures(build, folder):
    """A failed export leaves nothing under the name."""
    out = folder / "none.json"
    done = subprocess.run([build / "bin" / "ranktrace-export", "-o", out, folder / "no-such-store"],
                          capture_output=True, text=True)
    if done.returncode != 1 or done.stderr.count("\n") != 1 or out.exists():
        sys.exit(f"an export of nothing: exit code {done.returncode}, {done.stderr!r}")
    done = subprocess.run([build / "bin" / "ranktrace-export", "--format", "vcd", "x"], capture_output=True, text=True)
    if done.returncode != 2 or "chrome" not in done.stderr:
        sys.exit(f"an unknown format: exit code {done.returncode}, {done.stderr!r}")


def main():
    build = pathlib.Path(sys.argv[1])
    if not (build / "bin" / "ranktrace-merge").exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    sets = [[path] for path in sorted((ROOT / "tests" / "data" / "kineto").glob("*.json"))]
    for name in ("param_dlrm_kineto_8rank", "trace_filter"):
        sets += [sorted((PUBLIC / name).glob("*.json.gz"))] if (PUBLIC / name).is_dir() else []
    for name in ("critical_path_simple_add", "rocm_graph_capture", "ns_resolution_trace", "rank_metadata_cases"):
        sets += [[path] for path in sorted((PUBLIC / name).glob("*.json.gz"))]
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(check_set(build, files, pathlib.Path(folder)) for files in sets)
        check_failures(build, pathlib.Path(folder))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
