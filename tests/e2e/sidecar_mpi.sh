#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Four ranks under mpirun: one file of all, and what is left when a job, a sidecar, a supervisor or
# mpirun itself is killed. No GPU, no capture library.
. "$(dirname "$0")/lib.sh"
need_mpi
. "$here/mpi_cases.sh"

# on_rank N COMMAND OTHERS: one command on rank N, another elsewhere
on_rank() { printf 'if [ "$RANK" = %s ]; then %s; else %s; fi' "$1" "$2" "$3"; }

begin "events of four ranks are in one file on one clock" 4 -- "$job" events 20000 threads 2
code_is 0
has '^run ranks=4 trailer=1 damaged=0 gaps=0 sources=8 '
for rank in 0 1 2 3; do
    has "role=rank rank=$rank kernels=40000 comms=1 steps=200 .* named=40000 end=exited code=0 cut=0"
done
count_is 1 'role=rank rank=0 .* align=reference'
count_is 3 'role=rank rank=[123] .* align=same_host'
count_is 3 'role=sidecar .* exchanges=[1-9]'

begin "more events than fit into one frame or one credit arrive whole" 2 -- \
    "$job" events 400000 threads 2
code_is 0
count_is 2 'kernels=800000 .* named=800000'

# It fails when all that the others record is stored; the run's line has this command in it, too.
are_stored="'$summary' '$work/result/timeline.rkt' 2>/dev/null | grep -c '^source .* kernels=500 ' | grep -qx 3"
begin "a failed job ends the others, and its code is that of mpirun" 4 -- \
    sh -c "$(on_rank 2 "until $are_stored; do sleep 0.1; done; exec $job events 500 exit 3" \
        "exec $job events 500 sleep-ms 60000")"
code_is 3
has 'trailer=1'
has 'role=rank rank=2 kernels=500 .* end=exited code=3 cut=0'
count_is 3 'role=rank .* kernels=500 .* end=signaled code=15 cut=1'

begin "a killed job leaves what it had put into its rings" 4 -- \
    sh -c "$(on_rank 1 "exec $job events 5000 kill" "exec $job events 500 sleep-ms 60000")"
code_is 137
has 'trailer=1'
has 'role=rank rank=1 kernels=5000 .* end=signaled code=9 cut=1'

begin "with --on-failure wait the others run to their end" 4 --on-failure wait -- \
    sh -c "$(on_rank 2 "exec $job events 500 exit 3" "exec $job events 500 sleep-ms 1500")"
code_is 3
count_is 3 'role=rank .* end=exited code=0 cut=0'

begin "a killed sidecar harms no job, and its rank is marked as lost" 4 -- \
    sh -c "$(on_rank 2 "exec $job events 300 kill-sidecar" "exec $job events 300")"
no_job_failed
has 'trailer=1'
has 'rank=2 .* end=lost code=0 cut=1'
count_is 3 'role=rank .* kernels=300 .* end=exited code=0 cut=0'

begin "rank 0's killed sidecar harms no job, and its file stays readable" 4 -- \
    sh -c "$(on_rank 0 "exec $job events 300 kill-sidecar" "exec $job events 300")"
no_job_failed
has '^run ranks=4 trailer=0 damaged=0'

if has_sanitizer; then
    echo "skipped: a sanitizer bears no library that is loaded before it, so no MPI that is stuck"
else
    cat >"$work/stick" <<SH
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" = 2 ] || exec "\$@"
LD_PRELOAD=$build/tests/stuck_improbe.so STUCK_WHEN=$work/is_stuck exec "\$@"
SH
    chmod +x "$work/stick"
    wrapper=("$work/stick")
    begin "a sidecar that is stuck inside MPI ends itself, and holds no job up" 4 -- \
        sh -c "$(on_rank 2 "$job events 300; touch $work/is_stuck" "exec $job events 300")"
    wrapper=()
    no_job_failed
    has 'trailer=1'
    count_is 3 'role=rank rank=[013] kernels=300 .* end=exited code=0 cut=0'
    count_is 1 'a sidecar is stuck' "$work/err"
    count_is 1 'the sidecar died .*sidecar="exit code 70"' "$work/err"
fi

# A time namespace shifts MONOTONIC_RAW: two machines' clocks with a known truth on one machine.
if unshare -T --monotonic 1000 --fork true 2>/dev/null; then
    cat >"$work/shift_clock" <<'SH'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" -lt 2 ] || exec unshare -T --monotonic 1000 --fork -- "$@"
exec "$@"
SH
    chmod +x "$work/shift_clock"
    wrapper=("$work/shift_clock")
    begin "clocks of other machines are aligned within their bound" 4 -- "$job" events 500
    wrapper=()
    code_is 0
    count_is 1 'role=rank rank=0 .* align=reference'
    count_is 1 'role=rank rank=1 .* align=same_host'
    count_is 2 'role=rank rank=[23] .* align=measured knots=[1-9]'
    sed -nE 's/.*role=rank rank=[23] .* offset_ns=(-?[0-9]+) bound_ns=([0-9]+) .*/\1 \2/p' \
        "$work/out" >"$work/offsets"
    [ "$(wc -l <"$work/offsets")" = 2 ] || complain "there are no offsets"
    while read -r offset bound; do
        miss=$((offset + 1000000000000))
        [ "${miss#-}" -le "$bound" ] || complain "offset $offset is off by $miss, bound $bound"
    done <"$work/offsets"
else
    echo "skipped: no time namespaces here (unshare -T), so no clock with a known offset"
fi

# mpirun gives about a second between TERM and KILL; these jobs do not react to TERM.
begin_ended "the file is complete when mpirun is ended by a signal"
has '^run ranks=4 trailer=1 damaged=0 gaps=0'
count_is 4 'role=rank .* kernels=700 .* cut=1'

exit $((failures > 0))
