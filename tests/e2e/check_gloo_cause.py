#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of steps in which one rank of a gloo job has 0.4 s more to do.

  check_gloo_cause.py REPORT RANK CAUSE
"""
import json
import sys

FAULT_NS = 400_000_000


def main():
    report, rank, cause = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
    straggler = report["straggler"]
    assert straggler["is_found"], straggler
    assert (straggler["rank"], straggler["cause"]) == (rank, cause), straggler
    # neither a sleep nor the loop ends early; what else this machine did comes on top, on any rank
    assert straggler["cause_ns"] >= FAULT_NS / 2, straggler
    print(f"rank {rank}: {cause}, {straggler['cause_ns'] / 1e6:.0f} ms; gain {straggler['gain_ns']} ns")


if __name__ == "__main__":
    main()
