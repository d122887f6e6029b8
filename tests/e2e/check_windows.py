# SPDX-License-Identifier: Apache-2.0
"""The report of windows.sh: what was not recorded is in no number.

    check_windows.py REPORT WINDOWS STEP...     the steps that were recorded
"""

import json
import sys


def main(path, window_count, recorded):
    with open(path) as file:
        report = json.load(file)
    total_ns = 0
    for rank in report["ranks"]:
        steps = [step for step in rank["steps"] if step["is_recorded"]]
        assert [step["number"] for step in steps] == recorded, steps
        assert all(step["window"] is None for step in rank["steps"] if not step["is_recorded"])
        total_ns += sum(step["window"]["window_ns"] for step in steps if not step["is_warmup"])
        spans = rank["capture_windows"]
        assert [span["start_ns"] is None for span in spans] == [True] + [False] * window_count, spans
        assert rank["run"]["window_ns"] <= spans[-1]["end_ns"] - spans[1]["start_ns"]
    assert report["summary"]["rank_windows_ns"] == total_ns
    assert all(len(collective["ranks"]) == len(report["ranks"]) for collective in report["collectives"])


main(sys.argv[1], int(sys.argv[2]), [int(step) for step in sys.argv[3:]])
