#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What rank 0 does not write is not lost: sidecars keep it, and recover puts it into the timeline.
. "$(dirname "$0")/lib.sh"
need_mpi

job=$build/tests/ring_job
summary=$build/tests/store_summary
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done

# run RANKS COMMAND...: into $out, spools into $spools; the exit code in $code
run() {
    local ranks=$1
    shift
    code=0
    mpi "$ranks" "$ranktrace" run -o "$out" --no-report -- "$@" >"$work/err" 2>&1 || code=$?
}

recover() {
    "$ranktrace" recover --force -o "$work/whole.rkt" "$@" >"$work/said" 2>&1 ||
        fail "recover: $(cat "$work/said")"
    "$summary" "$work/whole.rkt" >"$work/summary"
}

has() { grep -qE -- "$1" "$work/summary" || fail "no line '$1' in: $(cat "$work/summary" "$work/err")"; }

export RANKTRACE_SPOOL_DIR=$work/spools
mkdir "$work/spools"
spools() { find "$work/spools" -name 'ranktrace-spool-*' | wc -l; }

# A run without trouble leaves no spool.
out=$work/good
run 2 "$job" events 2000
[ "$code" -eq 0 ] || fail "a good run returned $code"
[ "$(spools)" -eq 0 ] || fail "a good run left a spool"

# Rank 0 dies: what the others send from then on is on their disks.
out=$work/dead
run 2 sh -c "if [ \"\$RANK\" = 0 ]; then exec $job events 300 kill-sidecar; fi
             exec $job events 3000 step-us 500"
[ "$(spools)" -ge 1 ] || fail "nothing was kept: $(cat "$work/err")"
grep -q 'ranktrace recover' "$work/err" || fail "the way to recover is not said: $(cat "$work/err")"
recover "$out" "$work/spools"
grep -q 'from spools' "$work/said" || fail "recover used no spool: $(cat "$work/said")"
has '^run ranks=2 trailer=1 damaged=0 gaps=0'
has 'role=rank rank=1 kernels=3000 .* named=3000 end=exited code=0 cut=0'

# To the timeline of another run they do not belong.
recover "$work/good" "$work/spools"
grep -q 'left out .*/ranktrace-spool-.*: it is of run ' "$work/said" || fail "spools have no run: $(cat "$work/said")"
! grep -q 'from spools' "$work/said" || fail "recover mixed two runs: $(cat "$work/said")"
rm -f "$work/spools"/*

# Rank 0's disk is full. A small file system needs the right to mount.
if unshare -m true 2>/dev/null; then
    out=$work/small/out
    mkdir -p "$work/small"
    cat >"$work/on_small_disk" <<SH
#!/bin/sh
mount -t tmpfs -o size=128k none "$work/small" && mkdir "$work/small/out" || exit 99
mpirun --allow-run-as-root --oversubscribe -np 2 "$ranktrace" run -o "$out" --no-report -- \
    "$job" events 400000
echo "code \$?"
cp "$out/timeline.rkt" "$work/timeline.rkt"
SH
    chmod +x "$work/on_small_disk"
    unshare -m "$work/on_small_disk" >"$work/err" 2>&1 || fail "full disk: $(cat "$work/err")"
    grep -q '^code 0$' "$work/err" || fail "a full disk harmed the job: $(cat "$work/err")"
    grep -q 'the file cannot be written any more' "$work/err" || fail "a full disk is not said"
    [ "$(spools)" -ge 2 ] || fail "nothing was kept: $(cat "$work/err")"
    recover "$work/timeline.rkt" "$work/spools"
    has '^run ranks=2 trailer=1 damaged=0 gaps=0'
    for rank in 0 1; do
        has "role=rank rank=$rank kernels=400000 .* named=400000 end=exited code=0 cut=0"
    done
else
    echo "skipped: no mount here (unshare -m), so no full disk"
fi
