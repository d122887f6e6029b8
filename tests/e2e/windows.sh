#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Capture windows over four ranks on simulated GPUs: by steps, by schedule, by SIGUSR2 to mpirun, by
# time. All ranks switch at the same steps, and what is recorded is what was launched inside.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
export LD_LIBRARY_PATH=$build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RANKTRACE_LOG=info
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

# run_job STEPS ARGS...: under 'ranktrace run ARGS', in the background
run_job() {
    local args=(-np $ranks --oversubscribe) steps=$1
    shift
    [ "$(id -u)" -ne 0 ] || args+=(--allow-run-as-root)
    rm -rf "$work/out"
    mpirun "${args[@]}" "$ranktrace" run --no-report -o "$work/out" "$@" -- \
        "$build/simgpu/simgpu_train" --steps "$steps" >"$work/facts" 2>"$work/log" &
    mpi_pid=$!
}

job_ends_well() {
    local code=0
    wait "$mpi_pid" || code=$?
    mpi_pid=
    [ $code -eq 0 ] || fail "mpirun returned $code: $(tail -n 3 "$work/log")"
}

until_true() {
    local deadline=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fail "never came: $*"
        sleep 0.05
    done
}

all_mark_steps() { [ "$(ranks_say | grep -vc ' steps=0 ')" -eq $ranks ]; }
all_have_opened() { [ "$(ranks_say | grep -c 'open@')" -eq $ranks ]; }
# Rank 0 says each of its orders in the log.
orders_are() { [ "$(grep -c 'the capture window changes' "$work/log")" -eq "$1" ]; }

# One window, the same on all ranks, with a warm-up before: its edges and its kernels.
one_window() {
    local edges first last
    edges=$(ranks_say | sed -n '1s/.*edges=//p')
    first=$(sed -n 's/^closed@-,warmup@[0-9]*,open@\([0-9]*\),closed@[0-9]*$/\1/p' <<<"$edges")
    last=$(sed -n 's/.*,closed@\([0-9]*\)$/\1/p' <<<"$edges")
    [ -n "$first" ] && [ -n "$last" ] && [ "$last" -gt "$first" ] || fail "$1: edges are $edges"
    all_say $(((last - first + 1) * per_step)) 600 \
        "closed@-,warmup@$((first - 1)),open@$first,closed@$last"
}

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

# One signal to mpirun reaches every rank's supervisor, and is one toggle.
run_job 600 --start-closed
until_true all_mark_steps
kill -USR2 "$mpi_pid"
until_true orders_are 1
until_true all_have_opened
kill -USR2 "$mpi_pid"
until_true orders_are 2
job_ends_well
one_window "two signals"
# Closed for seconds while the job goes on: no tool has taken CUPTI from us.
"$ranktrace" report "$work/out" >"$work/report"
! grep -q "was not recorded" "$work/report" || fail "a closed window is taken for a gap"

run_job 600 --delay 3s --duration 2s
job_ends_well
one_window "by time"
