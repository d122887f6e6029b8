#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent check of a Chrome trace JSON: what viewers need, and that no track has partial overlap.

  check_chrome.py TRACE.json    says what is wrong and exits 1; else prints a summary

Times are read as text and turned into integer nanoseconds, so that the check rounds nothing.
"""

import collections
import json
import sys
from decimal import Decimal


class Exact(str):
    """A JSON number with a fraction, as it is written."""


def ns(value):
    text = str(value)
    if not isinstance(value, Exact) or "." not in text or len(text.split(".")[1]) != 3:
        raise ValueError(f"time {text} has not exactly three decimals")
    return int(Decimal(text) * 1000)


def partial_overlaps(slices):
    """Pairs of slices of one track that overlap without nesting, by a stack over sorted starts."""
    found, stack = [], []
    for start, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1][1] <= start:
            stack.pop()
        if stack and end > stack[-1][1]:
            found.append((stack[-1], (start, end, name)))
        stack.append((start, end, name))
    return found


def names_of(events, what):
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == what}


def check_flows(events, tracks):
    """Each arrow has one begin and one end, and each lies on a slice of its track."""
    wrong, ends = [], collections.defaultdict(list)
    edges = {track: {(s[0], s[1]) for s in slices} for track, slices in tracks.items()}
    starts = {track: {s[0] for s in spans} for track, spans in edges.items()}
    for e in events:
        if e["ph"] in "sf":
            ends[e["id"]].append(e["ph"])
            if ns(e["ts"]) not in starts.get((e["pid"], e["tid"]), ()):
                wrong.append(f"flow {e['id']} {e['ph']}: no slice begins there")
            if e["ph"] == "f" and e.get("bp") != "e":
                wrong.append(f"flow {e['id']}: its end binds to the next slice")
    wrong += [f"flow {flow}: {sorted(parts)}" for flow, parts in ends.items() if sorted(parts) != ["f", "s"]]
    return wrong, len(ends)


def check(text):
    doc = json.loads(text, parse_float=Exact)
    events, wrong = doc["traceEvents"], []
    processes = {pid: name for (pid, _), name in names_of(events, "process_name").items()}
    threads = names_of(events, "thread_name")
    tracks = collections.defaultdict(list)
    for e in events:
        if not isinstance(e["pid"], int) or e["pid"] < 1 or not isinstance(e["tid"], int):
            wrong.append(f"pid {e['pid']} tid {e['tid']}")
        if e["ph"] != "M" and ns(e["ts"]) < 0:
            wrong.append(f"{e['name']} is before the first event")
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"]))
            if ns(e["dur"]) < 0:
                wrong.append(f"{e['name']} has dur {e['dur']}")
    for track, slices in tracks.items():
        if track[0] not in processes or track not in threads:
            wrong.append(f"track {track} has no name")
        if track[1] in processes:
            wrong.append(f"track {track} has the number of a process")
        wrong += [f"track {track} ({threads.get(track)}): {a} and {b} overlap partly"
                  for a, b in partial_overlaps(slices)]
    if len(set(tid for _, tid in threads)) != len(threads):
        wrong.append("two tracks have one number")
    for pid, name in processes.items():
        if name.split(" (")[0] != f"rank {pid - 1}":
            wrong.append(f"pid {pid} is named {name}")
    more, flow_count = check_flows(events, tracks)
    return doc, wrong + more, (f"{len(processes)} ranks, {len(tracks)} tracks, "
                               f"{sum(map(len, tracks.values()))} slices, {flow_count} arrows")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        _, wrong, summary = check(file.read())
    for line in wrong[:20]:
        print(line)
    print(f"{sys.argv[1]}: {summary}, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
