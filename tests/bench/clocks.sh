#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How near alignments are to clocks whose truth is known: a table of every figure with its limit, and what two
# simple ways make of the same data, of clocks that are simulated and of real MPI on one host and on two; then
# two of the quantiles behind it. What cannot run here says why.
#
#   clocks.sh BUILD_FOLDER [SEEDS [FIRST_SEED]]     default: 10 seeds from 2001 on
#
# Ends with 1 where a simulated figure is not within its limit; those of real clocks are the machine's, too.
set -euo pipefail
build=$1
e2e=$(dirname "$0")/../e2e
rows=$build/tests/clock_rows.md # of the tables of quantiles
code=0

"$build/tests/bench_clocks" "${2:-10}" "${3:-2001}" figures || code=$?
: >"$rows"
skipped=()
for script in clock_exchange clock_hosts; do
    if ! said=$(CLOCK_ROWS=$rows "$e2e/$script.sh" "$build" bench); then
        skipped+=("$script: $(tail -n 1 <<<"$said")")
        said=$(grep '^| ' <<<"$said" || true)
    fi
    [ -z "$said" ] || echo "$said"
done
printf '%s\n' "${skipped[@]}"
cat "$rows"
echo
"$build/tests/bench_clocks" "${2:-10}" "${3:-2001}" quantiles
exit "$code"
