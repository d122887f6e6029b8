#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# As clock_exchange.sh, from host to host: each has a network, an address and a clock of its own.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/many_hosts_lib.sh"
. "$here/clock_exchange_lib.sh"
need_mpi
[ "${2:-}" = bench ] || only_in_dev
in_sandbox "$@"
how_long "${2:-}"
hosts_up a b
# Each host's mpirun would bind its process to the first core, which here is the same one.
flags=(--bind-to none --mca btl tcp,self --mca btl_tcp_disable_family 6 --mca btl_tcp_if_include "$HOSTS_NET.0/24")

measure() { # NAME OPTIONS...
    : >"$work/out"
    begin "$1" a:1,b:1 "$build/tests/clock_exchange" --name "$1" --ahead "${HOSTS_GAP_S}s" "${@:2}"
    row_of "$work/log" "$code" || complain "exit code $code, or no row"
}

print_head
# shellcheck disable=SC2046 # words
{
    measure "two hosts" "${usual[@]}" $(figures 12 "" 20us)
    measure "two hosts, another clock" "${all_along[@]}" "${clocks[@]}" $(figures 12 "" 20us)
    busy measure "two hosts, another clock, busy cores" "${usual[@]}" "${clocks[@]}" $(figures 12 "" 20us)
}

exit $((failures > 0))
