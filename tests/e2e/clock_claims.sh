#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ranktrace run --ptp-bound: hosts that claim true time, one of them wrongly, from the sidecars to the report.
# Three of four ranks have a clock of their own (a time namespace), whose truth is known; so REALTIME is made of it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_no_sanitizer "a sanitizer bears no library that is loaded before it"
need_mpi
unshare -T --monotonic 1000 --fork true 2>/dev/null || skip "no time namespaces here (unshare -T)"

# Rank 3's is 50 ms ahead of the others'. Nobody steers rank 2's.
cat >"$work/host" <<SH
#!/bin/sh
rank=\$OMPI_COMM_WORLD_RANK
[ "\$rank" = 2 ] ||
    export LD_PRELOAD=$build/simgpu/libsimgpu-clock.so \\
        SIMGPU_REALTIME_STEERED=\$((1700000000000000000 - rank * 1000000000000 + rank / 3 * 50000000))
[ "\$rank" != 0 ] || exec "\$@"
exec unshare -T --monotonic "\${rank}000" --fork -- "\$@"
SH
chmod +x "$work/host"
timeline=$work/result/timeline.rkt
# The job lasts a while: where all cores are busy a burst may have to be tried again, and claims are few.
mpi 4 "$work/host" "$build/bin/ranktrace-run" -o "$work/result" --ptp-bound 1us -- \
    sh -c "'$build/tests/ring_job' events 500 && exec sleep 12" >"$work/err" 2>&1 ||
    fail "the run: $(cat "$work/err")"

lines() { # lines COUNT PATTERN
    [ "$(grep -cE -- "$2" "$work/out" || true)" = "$1" ] || fail "not $1 lines '$2': $(cat "$work/out")"
}
grep -q "contradicts what was measured.*from=3" "$work/err" || fail "nobody warns: $(cat "$work/err")"

"$ranktrace" align "$timeline" >"$work/out"
lines 1 '^rank 1 on .*: measured, .*; narrower by --ptp-bound \(as stored\)$'
lines 1 '^rank 2 on .*: measured, .* ppb[^-]*\(as stored\)$' # nothing of --ptp-bound
lines 1 '^rank 3 on .*; its --ptp-bound is wrong, .* \(as stored\)$'
"$ranktrace" align "$timeline" --rho 5000 -o "$work/other.rkt" >"$work/out"
lines 1 '^rank 1 on .*; narrower by --ptp-bound \(not as stored\)$'

# The truth is in the bound, with the claim and without.
"$build/tests/store_summary" "$timeline" >"$work/out"
for rank in 1 2 3; do
    read -r offset bound < <(sed -nE \
        "s/.*role=rank rank=$rank .* align=measured .* offset_ns=(-?[0-9]+) bound_ns=([0-9]+) .*/\1 \2/p" \
        "$work/out") || fail "rank $rank is not measured: $(cat "$work/out")"
    miss=$((offset + rank * 1000000000000))
    [ "${miss#-}" -le "$bound" ] || fail "rank $rank: off by $miss, bound $bound"
done

# Ranks 0, 1 and 3 claimed; info and the report say what became of it.
"$ranktrace" info "$timeline" >"$work/out"
lines 1 '^  clocks .*--ptp-bound on 3 nodes: 1 aligned by it, 1 left out$'
"$ranktrace" info --format json "$timeline" >"$work/out"
lines 2 '"clock_claims": "used"' # the sidecar's and the rank's
lines 2 '"clock_claims": "left out"'
"$ranktrace" report "$timeline" >"$work/out" 2>"$work/err" || fail "report: $(cat "$work/err")"
lines 1 'WRONG --ptp-bound left out on 1 rank'

# Without the option nothing is claimed.
mpi 2 "$work/host" "$build/bin/ranktrace-run" -o "$work/bare" --no-report -- sleep 3 >"$work/err" 2>&1 ||
    fail "the run without: $(cat "$work/err")"
"$ranktrace" info "$work/bare/timeline.rkt" >"$work/out"
lines 0 'ptp-bound'
code=0
"$build/bin/ranktrace-run" --ptp-bound 1ms -- true >"$work/out" 2>&1 || code=$?
[ "$code" = 2 ] || fail "a bound of 1 ms: exit code $code"
lines 1 'ptp-bound.*more than 100us'
