#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public trace imports, and its GPU work is what the oracle says, to the nanosecond."""

import pathlib
import sys
import tempfile

from public_traces import load_oracle, reason_to_skip, run, runs


def work_of_store(build, store):
    """{rank: sorted [(start, end, class)]}, and how many records were left out."""
    ranks, left_out = {}, 0
    for line in run(build / "tests" / "dump_work", store).splitlines():
        word = line.split()
        work = ranks.setdefault(int(word[0]), [])
        if word[1] == "left_out":
            left_out += int(word[2])
        else:
            work.append((int(word[1]), int(word[2]), word[3]))
    return {rank: sorted(work) for rank, work in ranks.items()}, left_out


def check_set(build, oracle, files, store):
    run(build / "bin" / "ranktrace-merge", "--quiet", "--force", "--no-align", "-o", store, *files)
    got, left_out = work_of_store(build, store)
    wrong = 0
    for position, path in enumerate(files):
        doc = oracle.load(str(path))
        rank = (doc.get("distributedInfo") or {}).get("rank")
        rank = position if rank is None else int(rank)
        want = sorted((a, b, cls) for a, b, cls, _, _ in oracle.work_of(doc))
        if got.get(rank) != want:
            have = got.get(rank) or []
            print(f"{path.parent.name}/{path.name}: {len(have)} works, not {len(want)}; first difference: "
                  f"{next((p for p in zip(have, want) if p[0] != p[1]), None)}")
            wrong += 1
    print(f"{files[0].parent.name}: {len(files)} files, {sum(map(len, got.values()))} works, "
          f"{left_out} records left out")
    return wrong


def main():
    build = pathlib.Path(sys.argv[1])
    reason = reason_to_skip(build)
    if reason:
        print(f"skipped: {reason}")
        return 77
    oracle, wrong = load_oracle(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, files in runs():
            wrong += check_set(build, oracle, files, pathlib.Path(folder) / "timeline.rkt")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
