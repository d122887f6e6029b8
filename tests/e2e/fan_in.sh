#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trees of sidecars under mpirun: the file has the same records as with a star, and it still has when a
# leader is killed or stopped while its group sends. No GPU.
. "$(dirname "$0")/lib.sh"
need_mpi

job=$build/tests/ring_job
summary=$build/tests/store_summary
failures=0
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done

complain() {
    echo "FAILED: $case: $1"
    sed 's/^/    /' "$work/err" "$work/out"
    failures=$((failures + 1))
}

# begin CASE RANKS OPTION... -- COMMAND...: runs it under mpirun; a hang is exit code 124
begin() {
    local options=() ranks=$2
    case=$1
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -rf "$work/result" "$work/out"
    code=0
    RANKTRACE_LOG=info timeout -k 5 60 mpirun -np "$ranks" "${flags[@]}" \
        "$build/bin/ranktrace-run" -o "$work/result" --no-report "${options[@]}" -- "$@" \
        >"$work/err" 2>&1 </dev/null || code=$?
    "$summary" "$work/result/timeline.rkt" >"$work/out" 2>>"$work/err" || true
}

flags=(--oversubscribe)
[ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)

code_is() { [ "$code" = "$1" ] || complain "exit code is $code, not $1"; }
has() { grep -qE -- "$1" "$work/out" || complain "no line '$1'"; }
count_is() {
    local n
    n=$(grep -cE -- "$2" "$3" || true)
    [ "$n" = "$1" ] || complain "$n lines '$2' in $(basename "$3"), not $1"
}
# Mpirun can be told that a rank is done whose sidecar died only where PMIx is there.
no_job_failed() { [ ! -x "$build/bin/ranktrace-leave" ] || code_is 0; }

# What jobs recorded, as far as it does not depend on time.
records() { sed -nE 's/.*(role=rank rank=[0-9]+ kernels=[0-9]+ comms=[0-9]+ steps=[0-9]+).*(named=.* cut=[01]).*/\1 \2/p' \
    "$work/out" | sort; }
bundled() { sed -nE 's/.*msg="the file is closed".* bundled=([0-9]+) .*/\1/p' "$work/err"; }

begin "a star" 6 --fan-in star -- "$job" events 60000 threads 2 step-us 500
code_is 0
has '^run ranks=6 trailer=1 damaged=0 gaps=0 sources=12 '
count_is 6 'role=rank .* kernels=120000 .* named=120000 end=exited code=0 cut=0' "$work/out"
[ "$(bundled)" = 0 ] || complain "frames came by leaders: $(bundled)"
records >"$work/star"

for how in tree:2 tree:3 tree:4; do
    begin "the same records by $how" 6 --fan-in "$how" -- "$job" events 60000 threads 2 step-us 500
    code_is 0
    has '^run ranks=6 trailer=1 damaged=0 gaps=0 sources=12 '
    [ "$(bundled)" -gt 20 ] || complain "only '$(bundled)' frames came by leaders"
    records | cmp -s - "$work/star" || complain "other records than a star's: $(records | diff - "$work/star")"
done

begin "one node is one group, and that is rank 0's: no leader" 4 --fan-in tree -- "$job" events 500
code_is 0
[ "$(bundled)" = 0 ] || complain "frames came by leaders: $(bundled)"

begin "leaders relay when their own job has ended long before the others'" 4 --fan-in tree:2 -- \
    sh -c "if [ \$RANK = 2 ]; then exec $job events 500; else exec $job events 20000 step-us 15000; fi"
code_is 0
count_is 3 'role=rank .* kernels=20000 .* end=exited code=0 cut=0' "$work/out"
has 'role=rank rank=2 kernels=500 .* end=exited code=0 cut=0'

# Rank 3 leads 3, 4 and 5. The jobs of the others go on for longer than its silence is borne.
long="exec $job events 90000 step-us 10000"
begin "a leader that is killed takes nothing of its group with it" 6 --fan-in tree:3 -- \
    sh -c "if [ \$RANK = 3 ]; then exec $job events 5000 step-us 20000 kill-sidecar; else $long; fi"
no_job_failed
has '^run ranks=6 trailer=1 damaged=0 gaps=0 '
count_is 5 'role=rank rank=[^3] kernels=90000 .* named=90000 end=exited code=0 cut=0' "$work/out"
has 'rank=3 .* end=lost'
count_is 2 'the leader is silent: frames go to rank 0 directly' "$work/err"

cat >"$work/stopper" <<SH
#!/bin/sh
# The job, and beside it someone who stops its sidecar for a time longer than its group bears.
sidecar=\$(pgrep -P \$PPID -f ranktrace-sidecar-mpi)
(sleep 1; kill -STOP \$sidecar; sleep 7; kill -CONT \$sidecar) &
exec $job events 90000 step-us 11000
SH
chmod +x "$work/stopper"
begin "a leader that stands still loses nothing, and leaves with the others" 6 --fan-in tree:3 -- \
    sh -c "if [ \$RANK = 3 ]; then exec $work/stopper; else exec $job events 90000 step-us 10000; fi"
code_is 0
has '^run ranks=6 trailer=1 damaged=0 gaps=0 '
count_is 6 'role=rank .* kernels=90000 .* named=90000 end=exited code=0 cut=0' "$work/out"
count_is 2 'the leader is silent: frames go to rank 0 directly' "$work/err"

begin "what --fan-in may be is said" 2 --fan-in ring -- true
code_is 2
count_is 1 "option '--fan-in': 'ring' is not star, tree, tree:K or auto" "$work/err"

exit $((failures > 0))
