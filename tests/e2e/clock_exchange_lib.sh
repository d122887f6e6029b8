# SPDX-License-Identifier: Apache-2.0
# How long clocks are measured, for scripts that have sourced lib.sh; and a table of what came out.
#
#   how_long MODE             MODE is what the script got: nothing (seconds), bench, or slow (ten minutes)
#   "${usual[@]}"             options of clock_exchange for that
#   "${all_along[@]}"         likewise, for the case of a clock that changes
#   print_head                the head of the table whose rows clock_exchange prints
#   row_of FILE CODE          prints the row in FILE, what mpirun said; false where it ended with a CODE that is
#                             not good, or there is no row
#   busy COMMAND...           runs it beside two processes that never rest, and which end with it

how_long() {
    case $1 in
    slow)
        usual=(--for 60s --period 1s)
        all_along=(--for 600s --period 10s)
        limit_s=1200 # of many_hosts_lib.sh
        ;;
    bench)
        usual=(--for 10s --period 100ms)
        all_along=(--for 60s --period 1s)
        ;;
    *)
        usual=(--for 3s --period 100ms)
        all_along=(--for 6s --period 200ms)
        ;;
    esac
}

print_head() {
    echo "| clocks over MPI | error: median / p99 / max | guaranteed +- | likely +- | points outside" \
        "| line from start to end | constant from the start | bursts | exchanges each |"
    echo "|---|---|---|---|---|---|---|---|---|"
}

busy() {
    local pids=()
    for _ in 1 2; do
        setpriv --pdeathsig KILL bash -c 'while :; do :; done' &
        pids+=($!)
    done
    "$@"
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
}

# The row has been judged before MPI_Finalize, which common/transport_mpi.c ends by an alarm where Open MPI
# does not come back from it.
row_of() {
    [ "$2" -eq 0 ] || [ "$2" -eq 142 ] || return 1
    [ "$2" -eq 0 ] || echo "MPI_Finalize did not return in this one:"
    grep '^| ' "$1"
}
