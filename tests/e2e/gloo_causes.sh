#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real training on CPU, 4 ranks: each fault in its steps, and the report of these steps names it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
need_torch
need_no_sanitizer

steps=6
mpi 4 "$ranktrace" run -o "$work/run" --no-report -- \
    "$python" "$here/train_causes.py" --steps $steps --seconds 0.4

check() { # fault $1 (of rank $1) with cause $2
    local first=$((1 + steps * ($1 - 1)))
    "$ranktrace" report --steps "$first:$((first + steps))" --format json -o "$work/$1.json" "$work/run"
    "$ranktrace" report --steps "$first:$((first + steps))" "$work/run" >"$work/$1.txt"
    python3 "$here/check_gloo_cause.py" "$work/$1.json" "$1" "$2"
    grep -q "Rank $1 holds the others up" "$work/$1.txt" || fail "the page does not name rank $1"
    grep -q "Cause: $2" "$work/$1.txt" || fail "the page does not name $2"
}

check 1 input
check 2 compute
# A hook in backward. A kernel without these files does not tell that it sleeps.
if [ -r /proc/thread-self/schedstat ]; then
    check 3 host
    grep -q "asleep in backward" "$work/3.txt" || fail "the page does not say that backward slept"
else
    check 3 compute
fi

# An export holds what phases slept.
"$ranktrace" export -o "$work/trace.json" "$work/run"
"$ranktrace" merge -o "$work/again.rkt" "$work/trace.json" >"$work/merge.txt" 2>&1
for which in run again.rkt; do
    "$ranktrace" report --format json "$work/$which" |
        python3 -c 'import json, sys; print([[s["asleep_ns"] for s in r["steps"]] for r in json.load(sys.stdin)["ranks"]])'
done | uniq | wc -l | grep -qx 1 || fail "phases slept otherwise in an export"
