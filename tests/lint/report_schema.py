#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every key of the JSON report is in analysis/doc/report-schema.md."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def keys_of(value):
    if isinstance(value, list):
        return set().union(*map(keys_of, value), set())
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set()


def main():
    text = (ROOT / "analysis" / "doc" / "report-schema.md").read_text()
    documented = set(re.findall(r"`([A-Za-z_]+)`", text))
    reports = [json.loads(path.read_text()) for path in sorted((ROOT / "tests" / "data" / "report").glob("*.json"))]
    assert reports, "no golden report"
    # copy kinds and idle causes are listed in metrics.md
    parts = {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "Memset", "other", "sync", "alloc", "launch", "dependency",
             "device", "unknown"}
    used = set().union(*map(keys_of, reports))
    missing = sorted(used - documented - parts)
    if missing:
        print("not in report-schema.md:", ", ".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
