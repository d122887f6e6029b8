#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real training on CPU: rank 1 sleeps in its input code, longer than a busy machine holds up
# another, and the report says so.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
need_torch
need_no_sanitizer

check() { # the report of run $1 with $2 ranks; $3: what the delay counts as
    "$ranktrace" report --format json -o "$work/$1.json" "$work/$1"
    python3 "$here/check_gloo.py" "$work/$1.json" "$2" "$3"
}

for ranks in 2 4; do
    mpi "$ranks" "$ranktrace" run -o "$work/np$ranks" -- \
        "$python" "$here/train_ddp.py" --steps 12 --slow-rank 1 --sleep 0.3 >"$work/np$ranks.txt"
    check "np$ranks" "$ranks" input
    grep -q 'Rank 1 comes last to' "$work/np$ranks.txt" ||
        fail "the terminal report does not say that rank 1 comes last"
done

# The same delay in the training loop itself, where no mark says what it is.
mpi 2 "$ranktrace" run -o "$work/loop" -- \
    "$python" "$here/train_ddp.py" --steps 12 --slow-rank 1 --sleep 0.3 --loop-sleep >"$work/loop.txt"
check loop 2 host

# Tracing must not change what is computed.
mpi 2 "$ranktrace" run -o "$work/same" --no-report -- \
    "$python" "$here/train_ddp.py" --steps 10 --print-result | grep -o '"sum": "[^"]*"' >"$work/traced"
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29531} \
        "$python" "$here/train_ddp.py" --steps 10 --print-result >"$work/plain.$rank" &
done
wait
grep -o '"sum": "[^"]*"' "$work/plain.0" | cmp - "$work/traced" || fail "tracing changed the result"
