# SPDX-License-Identifier: Apache-2.0
# How long clocks are measured, for scripts that have sourced lib.sh; and a table of what came out.
#
#   how_long MODE             MODE is what the script got: nothing (seconds), bench, or slow (ten minutes)
#   "${usual[@]}"             options of clock_exchange for that
#   "${all_along[@]}"         likewise, for the case of a clock that changes
#   $(figures MARK [P99 [MAX]])   options of clock_exchange for the figures of a mark and their limits: bench only
#   "${clocks[@]}"            options of clock_exchange for clocks whose truth is made
#   print_head                the head of the table whose rows clock_exchange prints
#   row_of FILE CODE          prints the rows in FILE, what mpirun said; false where it ended with a CODE that is
#                             not good, or there is no row
#
# With bench all rows are figures, as those of bench_clocks, without a head; the table goes to the file $CLOCK_ROWS.
#   busy COMMAND...           runs it beside two processes that never rest, and which end with it

how_long() {
    mode=$1
    clocks=(--fake --clocks 10)
    case $1 in
    slow)
        usual=(--for 60s --period 1s)
        all_along=(--for 600s --period 0s)
        limit_s=1200 # of many_hosts_lib.sh
        ;;
    bench)
        usual=(--for 10s --period 100ms)
        all_along=(--for 600s --period 0s)
        limit_s=1200
        ;;
    *)
        usual=(--for 3s --period 100ms)
        all_along=(--for 6s --period 200ms)
        ;;
    esac
}

figures() {
    [ "$mode" != bench ] || echo --mark "$1" ${2:+--p99 "$2"} ${3:+--max "$3"}
}

print_head() {
    [ "$mode" != bench ] || exec 4>>"$CLOCK_ROWS"
    [ "$mode" = bench ] || exec 4>&1
    echo >&4
    echo "| clocks over MPI | error: median / p99 / max | guaranteed +- | likely +- | points outside" \
        "| line from start to end | constant from the start | bursts | exchanges each |" >&4
    echo "|---|---|---|---|---|---|---|---|---|" >&4
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
    grep -E '^\| [0-9]+ \|' "$1" || true
    grep -vE '^\| [0-9]+ \|' "$1" | grep '^| ' >&4
}
