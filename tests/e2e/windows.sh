#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Capture windows over four ranks on simulated GPUs: by steps, by schedule, by SIGUSR2 to mpirun, by
# time. What is recorded is what was launched inside. All ranks switch at the same steps, where an order
# reaches them in time: for signals the job is held, so that a slow machine does not matter.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
export LD_LIBRARY_PATH=$build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RANKTRACE_LOG=info,aggregator:debug,sidecar:debug
ranks=4
mpi_pid=
trap '[ -z "$mpi_pid" ] || kill "$mpi_pid" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# Rank by rank what the timeline has by now.
ranks_say() {
    "$build/tests/store_summary" "$work/out/timeline.rkt" 2>/dev/null |
        sed -n 's/.* role=rank .* \(kernels=[0-9]*\) .* \(steps=[0-9]*\) .* \(lost=[0-9]*\) .*\(edges=.*\)$/\1 \2 \3 \4/p'
}

# all_say KERNELS STEPS EDGES: every rank has exactly these, and has lost nothing
all_say() {
    local want="kernels=$1 steps=$2 lost=0 edges=$3"
    [ "$(ranks_say | grep -cxF -- "$want")" -eq $ranks ] || {
        ranks_say >&2
        fail "not all ranks have: $want"
    }
}

# run_job STEPS ARGS...: under 'ranktrace run ARGS', in the background; not past the gate
run_job() {
    local args=(-np $ranks --oversubscribe) steps=$1
    shift
    [ "$(id -u)" -ne 0 ] || args+=(--allow-run-as-root)
    rm -rf "$work/out"
    : >"$work/log" # now, not when the background gets to it: nobody shall look at the last job's
    mpirun "${args[@]}" "$ranktrace" run --no-report -o "$work/out" "$@" -- \
        "$build/simgpu/simgpu_train" --steps "$steps" --gate "$work/gate" \
        >"$work/facts" 2>"$work/log" &
    mpi_pid=$!
}

job_ends_well() {
    local code=0
    wait "$mpi_pid" || code=$?
    mpi_pid=
    [ $code -eq 0 ] || fail "mpirun returned $code: $(tail -n 3 "$work/log")"
}

until_true() {
    local deadline=$((SECONDS + 120))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fail "never came: $*; the log ends with $(tail -n 3 "$work/log")"
        sleep 0.05
    done
}

# log_has COUNT REGEX
log_has() { [ "$(grep -c -- "$2" "$work/log")" -eq "$1" ]; }
all_mark_steps() { [ "$(ranks_say | grep -vc ' steps=0 ')" -eq $ranks ]; }

# set_gate N [end]: how many steps may begin
set_gate() {
    echo "$*" >"$work/gate.new"
    mv "$work/gate.new" "$work/gate"
}

# let_begin N: the first N steps; then all ranks wait
let_begin() {
    set_gate "$1"
    until_true log_has $ranks "simgpu_train: rank [0-9]* waits before step $1\$"
}

# The step of rank 0's last order to open (1) or to close (0); -1: at once.
ordered_step() {
    sed -n "s/.*\"the capture window changes\" open=$1 from_step=\([0-9-]*\).*/\1/p" "$work/log" | tail -n 1
}

# signal_all NUMBER OPEN: the NUMBERth signal to mpirun reaches every rank's supervisor, and is one
# toggle: one order to OPEN, and all ranks get it. They are held meanwhile.
signal_all() {
    kill -USR2 "$mpi_pid"
    until_true log_has $(($1 * ranks)) '"a toggle of the capture window"'
    until_true log_has $(($1 * ranks)) '"the capture window is ordered"'
    log_has "$1" '"the capture window changes"' ||
        fail "$1 signals, and the orders are: $(grep 'the capture window changes' "$work/log")"
    [ "$(ordered_step "$2")" -gt 0 ] || fail "signal $1 does not give open=$2 from a step on"
}

set_gate 14
run_job 14 --steps 5:9
job_ends_well
per_step=$(sed -n '1s/.*"kernels":\([0-9]*\),.*"collectives":\([0-9]*\),.*/(\1 + \2) \/ 14/p' "$work/facts")
per_step=$((per_step))
all_say $((5 * per_step)) 14 "closed@-,warmup@4,open@5,closed@9"
"$ranktrace" report "$work/out" | grep -q "steps 5 to 8 recorded (capture window)" ||
    fail "the report does not say which steps were recorded"
"$ranktrace" report --format json -o "$work/report.json" "$work/out"
python3 "$here/check_windows.py" "$work/report.json" 1 5 6 7 8

run_job 14 --schedule skip_first=1,wait=2,warmup=1,active=2,repeat=2
job_ends_well
all_say $((6 * per_step)) 14 "closed@-,warmup@3,open@4,closed@6,warmup@8,open@9,closed@11"
# Two windows in one file: info and report tell them apart.
"$ranktrace" info "$work/out" | grep -q "windows   capture was opened 2 times, by $ranks sources" ||
    fail "info does not count the windows: $("$ranktrace" info "$work/out")"
"$ranktrace" report --format json -o "$work/report.json" "$work/out"
python3 "$here/check_windows.py" "$work/report.json" 2 4 5 9 10

set_gate 0
run_job 100000 --start-closed
let_begin 50
until_true all_mark_steps
signal_all 1 1
first=$(ordered_step 1)
let_begin $((first + 20))
sleep 1.1 # signals within a second are one
signal_all 2 0
last=$(ordered_step 0)
set_gate $((last + 20)) end
job_ends_well
all_say $(((last - first + 1) * per_step)) $((last + 20)) \
    "closed@-,warmup@$((first - 1)),open@$first,closed@$last"
# Closed for seconds while the job goes on: no tool has taken CUPTI from us.
"$ranktrace" report "$work/out" >"$work/report"
! grep -q "was not recorded" "$work/report" || fail "a closed window is taken for a gap"

# by_time DELAY_S: false where the job has begun no step by then
by_time() {
    set_gate 100000
    run_job 100000 --delay "${1}s" --duration 2s
    until_true log_has 1 '"the capture window changes" open=1'
    if [ "$(ordered_step 1)" = -1 ]; then
        set_gate 1 end
        job_ends_well
        return 1
    fi
    until_true log_has $ranks '"the capture window is ordered" open=0'
    set_gate $(($(ordered_step 0) + 20)) end
    job_ends_well
}

# A rank that hears of an order late switches late, and says where: each is held to its own edges.
delay_s=3
until by_time $delay_s; do
    delay_s=$((3 * delay_s))
    [ $delay_s -lt 100 ] || fail "in $((delay_s / 3)) s after its start the job has begun no step"
done
ranks_say >"$work/edges"
while read -r kernels _ lost edges; do
    from=$(sed -n 's/^edges=closed@-,\(warmup@\([0-9]*\),\)\?open@\([0-9]*\),closed@[0-9]*$/\2 \3/p' <<<"$edges")
    last=${edges##*@}
    [ -n "$from" ] || fail "by time: $edges"
    read -r first _ <<<"$from"
    [ "$kernels $lost" = "kernels=$(((last - first) * per_step)) lost=0" ] ||
        fail "by time: $kernels $lost, with $per_step a step, and $edges"
done <"$work/edges"
[ "$(wc -l <"$work/edges")" -eq $ranks ] || fail "by time: not all ranks are there: $(<"$work/edges")"
