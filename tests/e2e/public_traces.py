# SPDX-License-Identifier: Apache-2.0
"""What the scripts on public traces share: where and what they are, the reference, and how a program is run."""
import importlib.util
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
JOBS = {"param_dlrm_kineto_8rank", "nanogpt_h100_8rank", "trace_filter"}  # whose files are ranks of one run


def reason_to_skip(build):
    """None: this build imports traces, and they are there, the reference too."""
    if not (build / "bin" / "ranktrace-merge").exists():
        return "this build has no ranktrace-merge (no simdjson)"
    if not (SHARED / "oracle").is_dir() or not any(SHARED.glob("data/*/*.json.gz")):
        return f"no {SHARED}, the public traces and the oracle"
    return None


def folders():
    """(name, its Kineto files) of each set that has some."""
    for folder in sorted(p for p in (SHARED / "data").iterdir() if p.is_dir()):
        files = sorted(folder.glob("*.json.gz"))
        if files:
            yield folder.name, files


def runs():
    """(name of the set, files) of each run: a job's ranks together, everything else file by file."""
    for name, files in folders():
        yield from [(name, files)] if name in JOBS else [(name, [file]) for file in files]


def load_oracle():
    spec = importlib.util.spec_from_file_location("oracle", SHARED / "oracle" / "kineto_oracle.py")
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    return oracle


def run(*command):
    """Its standard output; a failure ends the script with what it said."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout
