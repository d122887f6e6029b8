#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/run.sh against the stand-ins: every question is asked, and what they can answer is right.
. "$(dirname "$0")/lib.sh"
only_in_dev
results=$work/results.md

code=0
env -u LD_LIBRARY_PATH "$root/tests/gpu/run.sh" --build "$build" --output "$results" >"$work/out" 2>&1 || code=$?
if [ "$code" -ne 77 ]; then
    skip "this machine has a GPU, or tests/gpu/run.sh says so: $(tail -1 "$work/out")"
fi
[ "$(wc -l <"$work/out")" = 1 ] || fail "without a GPU not one line: $(cat "$work/out")"
grep -q '^not run: no GPU' "$work/out" || fail "no reason is given: $(cat "$work/out")"
[ ! -e "$results" ] || fail "results were written without a GPU"

for wrong in "--output" "--build $work/nowhere" "--quikc"; do
    code=0
    # shellcheck disable=SC2086
    "$root/tests/gpu/run.sh" $wrong >"$work/out" 2>&1 || code=$?
    [ "$code" = 2 ] || fail "'$wrong' ends with $code, not 2: $(cat "$work/out")"
    head -1 "$work/out" | grep -qF -- "${wrong%% *}" || fail "'$wrong' is not named: $(cat "$work/out")"
done

LD_LIBRARY_PATH=$build/simgpu "$root/tests/gpu/run.sh" --build "$build" --quick --output "$results" \
    >"$work/out" 2>&1 || fail "$(cat "$work/out")"
has() { grep -qF -- "$1" "$results" || fail "the results lack '$1': $(cat "$results")"; }
[ "$(grep -c '^## ' "$results")" = 11 ] || fail "not 11 questions"
! grep -q 'failed:' "$results" || fail "$(grep failed: "$results")"
has '| GPU | ranktrace simulated GPU |'
has 'launch calls of the driver alone | 10100 of 10100 |'
has '| InitializeInjection on the main thread | yes |'
has '(CLOCK_REALTIME) | 0 of 200 |'
has '| kernels in graphs of 1000 | 100100 |'
has '| with stamps of 0, and with impossible ones | 0 and 0 |'
# Each question of the file that will hold the results is one that is asked.
while read -r title; do
    has "## $title"
done < <(sed -n 's/^| \(W[^|]*?\|D[^|]*?\|H[^|]*?\|On [^|]*?\) |.*/\1/p' "$root/agent/doc/gpu-results.md")
