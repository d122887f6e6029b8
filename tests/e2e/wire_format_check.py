#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the reader of wire-format.md (as reader.py on the path) against tests/unit/sample.c.

  wire_format_check.py STORE KINDS [KIND:COLUMN ...]     kinds of event that its version had, columns
                                                         that it had not
"""
import pathlib
import re
import sys

import reader

FACTORS = {1: 1, 2: 100, 4: 100000, 8: 10000000000}


def columns():
    """{event kind: {column: bytes}} from the tables of the same page."""
    page = pathlib.Path(__file__).parents[2] / "common/doc/wire-format.md"
    text = page.read_text()
    kinds = text.split("### Event kinds")[1].split("### Counters")[0]
    numbers = {name: int(number)
               for number, name in re.findall(r"^\| (\d+) \| (\w+) \|", kinds, re.M)}
    table = {}
    line = r"^\| (\w+) \| (\d+) \| `[\w.]+` \| [ui](\d) \|"
    for kind, column, size in re.findall(line, text, re.M):
        table.setdefault(numbers[kind], {})[int(column)] = int(size)
    return table


def expected(kind, row, table):
    """The row as sample_event of sample.c makes it."""
    want = {column: 2**(8 * size) - 1 if row == 2 else column * FACTORS[size] + row
            for column, size in table[kind].items()}
    want[17] = 8
    want[18] = row % 4
    want[19] = 1000000000 + row * 300 - (1000 if row == 3 else 0)
    want[20] = want[19] + 70000 * row
    want[21] = 4242
    want[22] = 2**32 - 1 if row == 2 else 22 * FACTORS[4] + row
    return want


def main(path, kind_count, later):
    table = {kind: sizes for kind, sizes in columns().items() if kind <= kind_count}
    for kind, column in (pair.split(":") for pair in later):
        del table[int(kind)][int(column)]
    kinds = []
    for kind, source, payload in reader.store_frames(path):
        if kind not in (reader.EVENTS, reader.BATCH):
            continue
        batch = reader.unpack(payload)
        rows = reader.events(batch)
        for row, got in enumerate(rows):
            want = expected(batch[reader.KIND], row, table)
            if got != want:
                sys.exit(f"source {source} kind {batch[reader.KIND]} row {row}: {got}, not {want}")
        kinds.append((source, batch[reader.KIND]))
    want = [(source, kind) for source in range(2) for kind in sorted(table)]
    if kinds != want or len(table) != kind_count:
        sys.exit(f"batches {kinds}, not {want}")
    print(f"{len(kinds)} batches agree, value by value")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
