#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The reader printed in common/doc/wire-format.md reads a frozen store, and every number in it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
[ -x "$python" ] || python=python3
"$python" -c 'import msgpack, zstandard' 2>/dev/null ||
    skip "$python has no msgpack or zstandard: install python3-msgpack and python3-zstandard"

sed -n '/^```python$/,/^```$/p' "$root/common/doc/wire-format.md" | sed '1d;$d' >"$work/reader.py"
[ -s "$work/reader.py" ] || fail "wire-format.md holds no python"

store=$root/tests/data/wire/v1.0-store.bin
"$python" "$work/reader.py" "$store" >"$work/out"
[ "$(wc -l <"$work/out")" -eq 28 ] || fail "not 2 sources with 14 kinds each: $(cat "$work/out")"
grep -qx 'source 1 kind 6: 4 events, 3 names' "$work/out" || fail "$(cat "$work/out")"

export PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1
"$python" "$here/wire_format_check.py" "$store" 14 7:35 12:35 12:36
"$python" "$here/wire_format_check.py" "$root/tests/data/wire/v1.1-store.bin" 20 7:35 12:35 12:36
"$python" "$here/wire_format_check.py" "$root/tests/data/wire/v1.2-store.bin" 20 7:35 12:35 12:36
"$python" "$here/wire_format_check.py" "$root/tests/data/wire/v1.3-store.bin" 21 7:35 12:35 12:36
"$python" "$here/wire_format_check.py" "$root/tests/data/wire/v1.4-store.bin" 21 12:35 12:36
"$python" "$here/wire_format_check.py" "$root/tests/data/wire/v1.5-store.bin" 21 12:35 12:36
"$python" "$here/wire_format_check.py" "$root/tests/data/wire/v1.8-store.bin" 22

# A run in several files: the same counts as in one.
"$ranktrace" simulate -o "$work/one.rkt" -s ranks=8 -s nodes=4 -s steps=3 >"$work/said"
mkdir "$work/run"
"$ranktrace" simulate --store sharded -o "$work/run/timeline.rkt" -s ranks=8 -s nodes=4 -s steps=3 >"$work/said"
"$python" "$work/reader.py" "$work/one.rkt" >"$work/out"
"$python" "$work/reader.py" "$work/run/timeline.rkt" | cmp - "$work/out" || fail "the shards are read otherwise"
grep -qx 'source 11 kind 1: .*' "$work/out" || fail "no kernels of the last rank: $(cat "$work/out")"

# A frame is spoilt: the reader goes on behind it.
{
    head -c 700 "$store"
    printf 'damage'
    tail -c +707 "$store"
} >"$work/damaged"
"$python" "$work/reader.py" "$work/damaged" >"$work/out"
[ "$(wc -l <"$work/out")" -eq 27 ] || fail "one batch should be lost: $(cat "$work/out")"
