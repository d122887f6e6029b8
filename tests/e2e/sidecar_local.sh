#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One node without MPI: what a job puts into its rings is in timeline.rkt, whatever way it ends.
. "$(dirname "$0")/lib.sh"

job=$build/tests/ring_job
summary=$build/tests/store_summary
failures=0
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done

# begin NAME [RUN OPTIONS...] -- JOB ARGS...: runs it; $code and $work/out are what came of it
begin() {
    local options=()
    case=$1
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -rf "$work/result"
    code=0
    "$build/bin/ranktrace-run" -o "$work/result" --no-report "${options[@]}" -- "$job" "$@" \
        2>"$work/err" || code=$?
    "$summary" "$work/result/timeline.rkt" >"$work/out" 2>>"$work/err" || true
}

complain() {
    echo "FAILED: $case: $1"
    sed 's/^/    /' "$work/err" "$work/out"
    failures=$((failures + 1))
}

code_is() { [ "$code" = "$1" ] || complain "exit code is $code, not $1"; }
has() { grep -qE -- "$1" "$work/out" || complain "no line '$1'"; }
count_is() {
    local n
    n=$(grep -cE -- "$2" "$work/out" || true)
    [ "$n" = "$1" ] || complain "$n lines '$2', not $1"
}

begin "every event of every thread arrives with its name" -- events 30000 threads 4
code_is 0
has '^run ranks=1 trailer=1 damaged=0 gaps=0 sources=2 '
has 'role=rank rank=0 kernels=120000 comms=1 steps=300 .* named=120000 end=exited code=0 cut=0 align=reference'
has 'number=0 role=sidecar .* pairs=[1-9].* end=exited'

begin "the job's exit code is kept, with a whole file" -- events 500 exit 7
code_is 7
has 'role=rank rank=0 kernels=500 .* end=exited code=7 cut=0'

begin "a killed job leaves everything that it had put into its rings" -- events 5000 kill
code_is 137
has 'role=rank rank=0 kernels=5000 .* end=signaled code=9 cut=1'
has 'trailer=1'

begin "a job that exits without closing capture is marked as cut" -- events 100 no-close
code_is 0
has 'kernels=100 .* end=exited code=0 cut=1'

begin "a job that never connects is in the store with its end" -- silent exit 3
code_is 3
has 'number=1 role=rank rank=0 kernels=0 .* end=exited code=3 cut=0'

begin "a helper that came first is not the rank" -- events 200 helpers 2
has 'role=rank rank=0 kernels=200 comms=1'
count_is 2 'role=helper rank=0 kernels=50 .* end=unknown'

begin "without communicators the process with the step marks is the rank" -- \
    events 200 helpers 1 no-comm
has 'role=rank rank=0 kernels=200 comms=0 steps=2'
count_is 1 'role=helper'

RANKTRACE_RING_CAPACITY=64 begin "a flood is counted, not waited for" -- events 200000 flood
code_is 0
sed -nE 's/.*role=rank .* kernels=([0-9]+) comms=([0-9]+) steps=([0-9]+) .* lost=([0-9]+) .*/\1 \2 \3 \4/p' \
    "$work/out" >"$work/counts"
read -r kernels comms steps lost <"$work/counts"
[ $((kernels + comms + steps + lost)) = 202001 ] ||
    complain "kept $kernels + $comms + $steps and lost $lost are not the 202001 that were pushed"

# A full disk: one error, and all that was written before can be read.
mkdir "$work/small"
if unshare -m mount -t tmpfs -o size=64k none "$work/small" 2>/dev/null; then
    case="a full disk costs what does not fit, and nothing else"
    code=0
    SUMMARY=$summary unshare -m sh -c 'mount -t tmpfs -o size=64k none "$0" && "$@" && exec "$SUMMARY" "$0/out"' \
        "$work/small" "$build/bin/ranktrace-run" -o "$work/small/out" --no-report -- \
        "$job" events 500000 threads 2 >"$work/out" 2>"$work/err" || code=$?
    code_is 0
    has '^run ranks=1 trailer=0 damaged=0 gaps=0 sources=2'
    has 'role=rank rank=0 kernels=[1-9][0-9]{4,} .* end=none'
    [ "$(grep -c 'level=error' "$work/err")" = 1 ] || complain "not one error"
else
    echo "skipped: a full disk needs a mount of its own (unshare -m)"
fi

exit $((failures > 0))
