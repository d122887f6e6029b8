# SPDX-License-Identifier: Apache-2.0
"""What the scripts on public traces share: where they are, the reference, and how a program is run."""
import importlib.util
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


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
