#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What 'ranktrace run' promises about the job, whatever its sidecar does: tried with a sidecar
# that misbehaves on demand (fake_sidecar.c). No MPI, no GPU.
set -euo pipefail

build=$(cd "$1" && pwd)
work=$(mktemp -d /tmp/rkt_run.XXXXXX)
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/lib" "$work/run"
touch "$work/lib/libranktrace.so" # whose name goes to the job, which has no use for it
cp "$build/bin/ranktrace-run" "$work/bin/"
cp "$build/tests/fake_sidecar" "$work/bin/ranktrace-sidecar"
cat >"$work/bin/ranktrace-report" <<'SH'
#!/bin/sh
echo "report of $1"
exit "${FAKE_REPORT_CODE:-0}"
SH
chmod +x "$work/bin/ranktrace-report"
cd "$work"

# A launcher around the tests would be taken for the launcher of the cases.
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done
export XDG_RUNTIME_DIR=$work/run FAKE_LOG=$work/log
# A session of its own: no terminal, as under a launcher. A shell starts what is in its
# background with SIGINT ignored; a launcher does not.
run="env --default-signal setsid -w $work/bin/ranktrace-run -o $work/result --drain-timeout 100ms"
failures=0

fail() {
    echo "FAILED: $case: $1"
    sed 's/^/    /' err out log 2>/dev/null || true
    failures=$((failures + 1))
}

# begin NAME MODE: a new case, with a sidecar of that mode
begin() {
    case=$1
    export FAKE_SIDECAR=$2
    rm -f log err out ready
    touch log
}

code_is() { [ "$code" = "$1" ] || fail "exit code is $code, not $1"; }
logged() { grep -qx "$1" log || fail "the sidecar did not hear '$1'"; }
says() { grep -qF "$1" err || fail "stderr does not say '$1'"; }
prints() { grep -qF "$1" out || fail "stdout does not say '$1'"; }
lines_are() { [ "$(wc -l <err)" = "$1" ] || fail "stderr has $(wc -l <err) lines, not $1"; }
dir_is_empty() { [ -z "$(ls run)" ]; }
dir_is_gone() { dir_is_empty || fail "the private folder is still there"; }

# start ARGS...: as try, but in the background; $pid is the supervisor's
start() {
    $run "$@" >out 2>err &
    pid=$! # env and setsid become it
}

try() {
    code=0
    $run "$@" >out 2>err || code=$?
}

finish() {
    code=0
    wait "$pid" || code=$?
    pid=
}

# until COMMAND...: asks again and again; the limit is the test's
until_true() { until "$@" >/dev/null 2>&1; do sleep 0.02; done; }
wait_for() { until_true grep -q "$1" "$2"; }
is_gone() { ! kill -0 "$1"; }

begin "a good run ends with 0, a report, and nothing on stderr" good
try sh -c 'echo "socket $RANKTRACE_SOCKET"'
code_is 0
prints "socket $work/run/ranktrace-"
prints "report of $work/result"
logged "started 0"
logged "ended 0"
logged "report 0"
lines_are 0
dir_is_gone

begin "the job's exit code comes back" good
try sh -c 'exit 7'
code_is 7
logged "ended 1792"

begin "a job that a signal ended gives 128 + N" good
try sh -c 'kill -SEGV $$'
code_is 139

begin "the sidecar's code counts when the job was fine" good
FAKE_VALUE=3 try true
code_is 3

begin "and does not when the job failed" good
FAKE_VALUE=3 try false
code_is 1

begin "a report that fails is said, and does not fail the job" good
FAKE_REPORT_CODE=1 try true
code_is 0
says "no report was made"
logged "report 1"

begin "--no-report makes none" good
try --no-report true
code_is 0
[ ! -s out ] || fail "stdout is not empty"
logged "report 0"

begin "torchrun implies --per-node" good
printf '#!/bin/sh\nexit 0\n' >torchrun
chmod +x torchrun
try ./torchrun --nproc-per-node=2
code_is 0
logged "per-node 1"

for signal in TERM INT HUP USR1 USR2 ALRM XCPU PWR WINCH RTMIN+3; do
    begin "SIG$signal reaches the job once, and its code comes back" good
    start bash -c "trap 'echo got' $signal; echo ready; until grep -q stop wish 2>/dev/null; do
        sleep 0.05; done; exit 5"
    wait_for ready out
    kill "-$signal" "$pid"
    wait_for got out
    echo stop >wish
    finish
    rm wish
    code_is 5
    [ "$(grep -c got out)" = 1 ] || fail "the job got it $(grep -c got out) times"
    if [[ "$signal" = @(TERM|INT|HUP) ]]; then
        logged "stop $(kill -l "$signal")"
    fi
done

begin "SIGUSR2 that the job does not catch toggles recording" good
start sh -c 'echo ready; until [ -e wish ]; do sleep 0.05; done'
wait_for ready out
kill -USR2 "$pid"
wait_for "toggle 0" log
touch wish
finish
rm wish
code_is 0

begin "--on-usr2 toggle keeps it from a job that catches it" good
start --on-usr2 toggle bash -c "trap 'echo got' USR2; echo ready; until [ -e wish ]; do
    sleep 0.05; done"
wait_for ready out
kill -USR2 "$pid"
wait_for "toggle 0" log
touch wish
finish
rm wish
code_is 0
[ "$(grep -c got out)" = 0 ] || fail "the job got it"

begin "--on-usr2 forward gives it to the job, which it ends" good
start --on-usr2 forward bash -c 'echo ready; exec sleep 60'
wait_for ready out
kill -USR2 "$pid"
finish
code_is 140

begin "a job ended by a forwarded signal gives 128 + N" good
start bash -c 'echo ready; exec sleep 60'
wait_for ready out
kill -TERM "$pid"
finish
code_is 143

begin "an ignored signal stays ignored" good
code=0
(
    trap '' HUP
    ${run#env --default-signal } bash -c 'kill -HUP $$; exit 4' >out 2>err
) || code=$?
code_is 4

begin "a sidecar that is never ready: the job runs untraced, with one line" never-ready
try --hold 300ms sh -c 'echo "socket ${RANKTRACE_SOCKET:-none}"; exit 6'
code_is 6
prints "socket none"
says "not ready in time: the job runs untraced"
lines_are 2 # the other: that the sidecar had to be killed

begin "a signal ends a job that is still held" never-ready
start sh -c 'echo started'
until_true sh -c 'ls run/*/socket'
kill -TERM "$pid"
finish
code_is 143
[ ! -s out ] || fail "the job was started"

begin "a sidecar that ends at once: the job runs untraced, with one line" early-exit
try sh -c 'echo "socket ${RANKTRACE_SOCKET:-none}"; exit 6'
code_is 6
prints "socket none"
says 'the job runs untraced" sidecar="exit code 3"'
lines_are 1
dir_is_gone

begin "a sidecar that dies: the job does not notice, one line" dies
try sh -c 'while pgrep -f "^$PWD/bin/ranktrace-sidecar" >/dev/null; do sleep 0.02; done; exit 8'
code_is 8
says 'capture is off, the job goes on" sidecar="signal 9"'
lines_are 1

begin "a sidecar that hangs is killed when its time is over" hangs
try sh -c 'exit 9'
code_is 9
says "the sidecar does not answer: killed"
dir_is_gone

begin "with a signal after the job's end a sidecar that hangs is not waited for" hangs
start --drain-timeout 1h sh -c 'echo $$'
wait_for . out
until_true is_gone "$(cat out)"
kill -TERM "$pid"
finish
code_is 0
says "the sidecar does not answer: killed"

begin "a sidecar that says that it waits may take longer than the drain timeout" waits
FAKE_WAIT_MS=7000 try true
code_is 0
logged "report 0"

begin "another rank failed: the job gets TERM" aborts
try sh -c 'touch ready; exec sleep 60'
code_is 143
says "another rank failed"
logged "ended 15"

begin "a job that ignores TERM gets KILL, and so does what it started" aborts
try --kill-after 300ms bash -c 'trap "" TERM; touch ready; sleep 61 & echo "child $!"; wait; while :; do sleep 1; done'
code_is 137
says "did not end on SIGTERM: killed"
child=$(sed -n 's/^child //p' out)
until_true is_gone "$child"

begin "a supervisor that is killed leaves neither job nor folder behind" good
start bash -c 'sleep 62 & echo "job $$ $!"; wait'
wait_for job out
kill -KILL "$pid"
finish 2>/dev/null # bash would tell of the kill
for job in $(sed -n 's/^job //p' out); do
    until_true is_gone "$job"
done
until_true dir_is_empty

begin "a misspelt variable is said, with the one that was meant" good
RANKTRACE_OUTPTU=x try true
code_is 0
says "name=RANKTRACE_OUTPTU near=RANKTRACE_OUTPUT"

begin "another tool in the place of ours is left there, and said" good
NCCL_PROFILER_PLUGIN=other try sh -c 'echo "plugin $NCCL_PROFILER_PLUGIN"'
prints "plugin other"
says "variable=NCCL_PROFILER_PLUGIN value=\"other\""

begin "wrong use is refused before anything starts" good
check_refused() {
    local want=$1 text=$2
    shift 2
    code=0
    "$work/bin/ranktrace-run" "$@" >out 2>err || code=$?
    code_is "$want"
    says "$text"
    lines_are 1
    [ ! -s log ] || fail "a sidecar was started"
}
printf '#!/bin/sh\n' >trainer
: >file
check_refused 2 "no command is given" -o out2
check_refused 2 "command 'no-such-command' was not found in PATH" no-such-command
check_refused 2 "did you mean '--hold'" --hodl 3s true
check_refused 2 "command './trainer' is not executable" ./trainer
check_refused 2 "is './trainer' or 'python trainer' meant?" trainer
check_refused 2 "command './missing' cannot be run" ./missing
check_refused 2 "'maybe' is not abort or wait" --on-failure maybe true
mkdir -p earlier && : >earlier/timeline.rkt
check_refused 2 "'x' is not auto, toggle or forward" -o earlier --on-usr2 x true
check_refused 2 "'' is not cupti" -o earlier --capture '' true
[ -e earlier/timeline.rkt ] || fail "an earlier timeline was renamed for a run that never was"
check_refused 2 "is not a duration with its unit" --hold 30 true
check_refused 1 "cannot make the output folder 'file/x'" -o file/x true
check_refused 1 "cannot make the output folder '/proc/nowhere'" -o /proc/nowhere true
WORLD_SIZE=2 TORCHELASTIC_RUN_ID=x check_refused 2 "put ranktrace outside" true
WORLD_SIZE=2 check_refused 2 "WORLD_SIZE is 2, but no mpirun or srun" true
SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 check_refused 2 "srun --mpi=pmix" true
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=0 \
    check_refused 2 "ranktrace-sidecar-mpi is not part of this build" true

if [ "$failures" -gt 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "all passed"
