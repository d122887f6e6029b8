#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hosts that the network loses for good, for a while, or at the end of the job: nothing hangs, what rank 0
# took is in its file, the rest is in spools, and mpirun says by its code what it knows.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/many_hosts_lib.sh"
need_mpi
only_in_dev
in_sandbox "$@"
hosts_up a b c d

job=$build/tests/ring_job
# How soon mpirun misses a host; by default after eight minutes.
soon=(--mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2)

# A run in the background, whose jobs go on until `stop`.
start() { # CASE LIST RUN_OPTION...
    local list=$2
    case=$1
    shift 2
    rm -rf "$work/out.dir" "$work/stop" "$work"/?/tmp/*
    : >"$work/out"
    {
        begin "$case" "$list" "$ranktrace" run -o "$work/out.dir" --no-report "$@" -- \
            "$job" events 100 step-us 20000 until "$work/stop"
        exit "$code"
    } &
    pid=$!
}
stop() { : >"$work/stop"; }
ends() {
    code=0
    wait "$pid" || code=$?
    look "$work/out.dir/timeline.rkt"
}

kernels() { # RANK: so many are in the summary
    sed -nE "s/.*role=rank rank=$1 kernels=([0-9]+) .*/\1/p" "$work/out" | grep . || echo 0
}

# Until rank 0 has written more of these ranks than it has now. That of a run that ended is enough.
grow() { # RANK...
    local rank before
    for rank in "$@"; do
        before=$(kernels "$rank")
        while kill -0 "$pid" 2>/dev/null && [ "$(kernels "$rank")" -le "$before" ]; do
            sleep 0.1
            "$build/tests/store_summary" "$work/out.dir/timeline.rkt" >"$work/out" 2>/dev/null || true
        done
    done
}

# Nothing is missing of a rank that came to its end.
is_complete() { # RANK...
    local rank pushed
    for rank in "$@"; do
        pushed=$(sed -nE "s/^rank $rank pushed ([0-9]+)$/\1/p" "$work/log")
        has "role=rank rank=$rank kernels=$pushed .* named=$pushed end=exited code=0 cut=0 "
    done
}

recover() { # PATH...
    "$ranktrace" recover --force -o "$work/whole.rkt" "$@" >>"$work/log" 2>&1 ||
        complain "recover failed"
    look "$work/whole.rkt"
    has '^run ranks=[0-9] trailer=1 damaged=0 gaps=0 '
}

start "five seconds without network" a:2,b:2
grow 0 2 3
unplug b
sleep 5
plug b
grow 2 3
stop
ends
code_is 0
has '^run ranks=4 trailer=1 damaged=0 gaps=0 '
is_complete 0 1 2 3
count_is 0 'ranktrace recover' log

start "the job ends while a host has no network" a:2,b:2
grow 0 2 3
unplug b
stop
until grep -q 'lost: its sidecar went silent' "$work/log"; do sleep 0.1; done
plug b
ends
code_is 0
has '^run ranks=4 trailer=1 damaged=0 gaps=0 '
is_complete 0 1
count_is 2 'role=rank rank=[23] .* end=(lost|unknown) code=0 cut=1 '
count_is 2 'ranktrace recover' log
recover "$work/out.dir"
is_complete 0 1 2 3

# c leads d: d's records come to rank 0 by themselves meanwhile.
start "a leader's host without network" a:1,b:1,c:1,d:1 --fan-in tree:2
grow 0 2 3
unplug c
until grep -q 'the leader is silent: frames go to rank 0 directly' "$work/log"; do sleep 0.1; done
grow 3
plug c
grow 2
stop
ends
code_is 0
has '^run ranks=4 trailer=1 damaged=0 gaps=0 '
is_complete 0 1 2 3

flags=("${soon[@]}")
mpirun_gave_up() {
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || complain "mpirun's code is $code"
    count_is 1 'ORTE has lost communication with a remote daemon' log
}
is_over() { # HOST: its daemon has ended all
    while on "$1" pgrep -f ranktrace >/dev/null; do sleep 0.1; done
}

own_disk b "$work/b/disk"
start "a host that is lost for good" a:2,b:2 --spool-dir "$work/b/disk"
grow 0 2 3
seen=$(kernels 2)
unplug b
ends
mpirun_gave_up
has '^run ranks=4 trailer=1 damaged=0 gaps=0 '
count_is 4 'role=rank .* cut=1 '
[ "$(kernels 2)" -ge "$seen" ] || complain "what was taken is not there: $(kernels 2) of $seen"
seen=$(kernels 2)
is_over b
mkdir "$work/from_b"
on b tar -C "$work/b/disk" -c . | tar -C "$work/from_b" -x
recover "$work/out.dir" "$work/from_b"
[ "$(kernels 2)" -gt "$seen" ] || complain "what came after the cut is not in the spool"
plug b

start "rank 0's host is lost for good" b:1,c:2
grow 0 1 2
unplug b
ends
mpirun_gave_up
is_over b
is_over c
look "$work/out.dir/timeline.rkt"
has '^run ranks=3 trailer=1 damaged=0 gaps=0 '
has 'role=rank rank=0 .* end=signaled code=15 cut=1 '
count_is 2 'role=rank rank=[12] .* end=(lost|unknown) code=0 cut=1 '
seen=$(kernels 2)
recover "$work/out.dir"
[ "$(kernels 2)" -gt "$seen" ] || complain "what came after the cut is not in the spool"

exit $((failures > 0))
