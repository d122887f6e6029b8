#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The README's first command, twice in a row: a report that names the slow rank and its cause, a
# timeline, and a Chrome trace.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
only_in_dev

for script in quickstart.sh install_deps.sh; do
    "$root/launch/$script" --help | grep -q "launch/$script" || fail "no help of $script"
    "$root/launch/$script" --hepl 2>/dev/null && fail "$script takes --hepl"
done

for round in 1 2; do
    "$root/launch/quickstart.sh" "$work/out" >"$work/log.$round" 2>&1 || {
        tail -n 40 "$work/log.$round"
        fail "round $round"
    }
    grep -q 'Rank 2 holds the others up' "$work/log.$round" || fail "round $round names no rank 2"
    grep -q 'Cause: compute' "$work/log.$round" || fail "round $round does not say why"
done
[ "$(find "$work/out" -type f | wc -l)" -eq 2 ] || fail "more than a timeline and a trace is left"
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["traceEvents"]' "$work/out/trace.json"
