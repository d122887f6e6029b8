#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ranktrace align: what rank 0 said of the clocks again, to the last bit, from what the sidecars stored.
# Two of three ranks have a clock of their own (a time namespace), whose truth is known.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
unshare -T --monotonic 1000 --fork true 2>/dev/null || skip "no time namespaces here (unshare -T)"

cat >"$work/shift_clock" <<'SH'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] ||
    exec unshare -T --monotonic "${OMPI_COMM_WORLD_RANK}000" --fork -- "$@"
exec "$@"
SH
chmod +x "$work/shift_clock"
timeline=$work/result/timeline.rkt
# The job lasts a while: where all cores are busy a burst may have to be tried again.
job=(sh -c "'$build/tests/ring_job' events 500 && exec sleep 6")
mpi 3 "$work/shift_clock" "$build/bin/ranktrace-run" -o "$work/result" --no-report -- \
    "${job[@]}" >"$work/err" 2>&1 || fail "the run: $(cat "$work/err")"

align() { "$ranktrace" align "$@" >"$work/out" 2>"$work/err" || fail "align $*: $(cat "$work/err")"; }
lines() { # lines COUNT PATTERN
    [ "$(grep -cE -- "$2" "$work/out" || true)" = "$1" ] || fail "not $1 lines '$2': $(cat "$work/out")"
}

is_true() { # is_true RANK: the offset in the summary is that of the rank's namespace, within the bound
    local offset bound miss
    read -r offset bound < <(sed -nE \
        "s/.*role=rank rank=$1 .* align=measured .* offset_ns=(-?[0-9]+) bound_ns=([0-9]+) .*/\1 \2/p" \
        "$work/out") || fail "rank $1 is not measured: $(cat "$work/out")"
    miss=$((offset + $1 * 1000000000000))
    [ "${miss#-}" -le "$bound" ] || fail "rank $1: off by $miss, bound $bound"
}

before=$(cksum <"$timeline")
align "$timeline"
lines 1 '^rank 0 on .*: reference \(as stored\)$'
lines 2 '^rank [12] on .*: measured, guaranteed \+- .*, likely \+- .*, rho [0-9]+ ppb.* \(as stored\)$'
lines 3 .

align "$timeline" --rho 5000 -o "$work/other.rkt"
lines 2 '^rank [12] on .*, rho 5000 ppb.* \(not as stored\)$'
[ "$(cksum <"$timeline")" = "$before" ] || fail "the timeline was changed"

# What the kernel's clock runs on stands beside it.
clocksource=$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource) || clocksource=
"$ranktrace" info "$timeline" >"$work/out"
[ -z "$clocksource" ] || lines 1 "^  clocks    $clocksource(;|\$)"

# The new file says it now, and its clocks are still those of the namespaces.
align "$work/other.rkt" --rho 5000
lines 3 '\(as stored\)$'
"$build/tests/store_summary" "$work/other.rkt" >"$work/out"
lines 1 '^run ranks=3 trailer=1 damaged=0 gaps=0 '
for rank in 1 2; do is_true "$rank"; done

# Back to the usual parameters: as it was at first.
align "$work/other.rkt" -o "$work/again.rkt"
align "$work/again.rkt"
lines 3 '\(as stored\)$'

# Two levels: the clocks of the first two measure against rank 0's, the last against one of them, and rank 0's.
RANKTRACE_CLOCK_STAR=2 mpi 4 "$work/shift_clock" "$build/bin/ranktrace-run" -o "$work/levels" --no-report -- \
    "${job[@]}" >"$work/err" 2>&1 || fail "the run of two levels: $(cat "$work/err")"
"$build/tests/store_summary" "$work/levels/timeline.rkt" >"$work/out"
lines 2 '^source .* role=sidecar .* exchanges=[1-9].* align=measured .* peers=0 '
lines 1 '^source .* role=sidecar .* exchanges=[1-9].* align=measured .* peers=(0,)?[123] '
for rank in 1 2 3; do is_true "$rank"; done
align "$work/levels/timeline.rkt"
lines 3 '^rank [123] on .*: measured, .* \(as stored\)$'

refused() { # refused CODE TEXT ARGUMENTS...
    local code=0
    "$ranktrace" align "${@:3}" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" = "$1" ] || fail "align ${*:3}: exit code $code"
    grep -q -- "$2" "$work/err" || fail "align ${*:3}: $(cat "$work/err")"
}
refused 2 'exists' "$timeline" -o "$work/other.rkt"
refused 2 'is to be aligned' "$timeline" -f -o "$timeline"
refused 2 'a part of 100' "$timeline" --kappa 101
refused 2 'one timeline' --rho 5
refused 1 'cannot' "$work/none.rkt"
