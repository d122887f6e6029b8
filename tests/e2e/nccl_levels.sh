#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two ranks of one node under each --nccl level: what is stored grows by exactly what the level
# adds, and the report is none the worse for what it does not read.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
export LD_LIBRARY_PATH=$build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SIMGPU_NCCL_MODE=net MASTER_PORT=$((20000 + $$ % 20000))
export ASAN_OPTIONS=detect_leaks=0 # the stand-in driver keeps modules, as drivers do

collectives=$((3 * 2)) # steps times buckets
train="$build/simgpu/simgpu_train --steps 3 --buckets 2 --bytes 400000"
two="for r in 0 1; do RANK=\$r LOCAL_RANK=\$r WORLD_SIZE=2 $train >'$work/facts.'\$r & done; wait"

# Of each rank: call, launch, operation, group; then one channel; then network work.
run_level() {
    local level=$1 from=$2 to=$3 counts count
    "$ranktrace" run --per-node --nccl "$level" -o "$work/$level" -- sh -c "$two" \
        >"$work/$level.txt" 2>"$work/$level.err" || fail "$level: $(cat "$work/$level.err")"
    counts=$("$build/tests/store_summary" "$work/$level/timeline.rkt" |
        sed -n 's/.* role=rank .* nccl=\([0-9]*\) .* lost=0 .*/\1/p')
    [ "$(wc -w <<<"$counts")" -eq 2 ] || fail "$level: not two ranks that lost nothing"
    for count in $counts; do
        { [ "$count" -ge "$from" ] && [ "$count" -le "$to" ]; } ||
            fail "$level: $count NCCL events, not $from to $to"
    done
    ! grep -qi "clock record maps\|left out" "$work/$level.txt" ||
        fail "$level: the report complains: $(cat "$work/$level.txt")"
}

run_level basic $((4 * collectives)) $((4 * collectives))
run_level kernel $((5 * collectives)) $((5 * collectives))
# 2 operations of 2 steps with 3 states and a plugin's event each; and the thread's sleep
network=$((2 * (1 + 2 * (3 + 1))))
run_level proxy $(((5 + network) * collectives)) $(((5 + network + 4) * collectives))

"$ranktrace" run --nccl deep -o "$work/bad" -- true 2>"$work/bad.err" && fail "--nccl deep is taken"
grep -q "'--nccl': 'deep' is not basic, kernel or proxy" "$work/bad.err" ||
    fail "wrong words: $(cat "$work/bad.err")"
