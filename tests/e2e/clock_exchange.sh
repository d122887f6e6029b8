#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two processes under mpirun measure a clock whose truth is known: it is inside each burst's interval and
# inside the bound, whatever the network and the load. How near the estimate is stands in the table, and
# is not judged: that is the machine's doing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/clock_exchange_lib.sh"
need_mpi
how_long "${2:-}"

measure() { # NAME BTL OPTIONS...
    local code=0
    mpi 2 --mca btl "$2" "$build/tests/clock_exchange" --name "$1" "${@:3}" >"$work/log" 2>&1 || code=$?
    row_of "$work/log" "$code" || fail "$1: exit code $code: $(cat "$work/log")"
}

print_head
# shellcheck disable=SC2046 # words
{
    measure "one clock, shared memory" vader,self "${usual[@]}" $(figures 11 150ns)
    measure "one clock, TCP" tcp,self "${usual[@]}" $(figures 11 2us)
    measure "rank 0 looks each 1 ms" tcp,self "${usual[@]}" --nap 1ms $(figures 13 2us 2us)
    measure "rank 0 looks each 20 ms" tcp,self "${usual[@]}" --nap 20ms $(figures 13 2us 2us)
    measure "another clock, TCP" tcp,self "${all_along[@]}" "${clocks[@]}" $(figures 14 1us 5us)
    busy measure "another clock, TCP, busy cores" tcp,self "${usual[@]}" "${clocks[@]}" $(figures 12 "" 20us)
}
