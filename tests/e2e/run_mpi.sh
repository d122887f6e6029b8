#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 'mpirun ranktrace run' with jobs, sidecars and supervisors that die: healthy jobs are not
# harmed, failed runs end, what was stored can be read, nothing is left behind. No GPU.
set -euo pipefail

build=$(cd "$1" && pwd)
if [ ! -x "$build/bin/ranktrace-sidecar-mpi" ] || ! command -v mpirun >/dev/null; then
    echo "this build has no MPI"
    exit 77
fi
if ! mpirun --version 2>/dev/null | grep -q "Open MPI"; then
    echo "the cases rest on what Open MPI's mpirun does"
    exit 77
fi
if [ ! -x "$build/bin/ranktrace-leave" ]; then
    echo "this build has no PMIx: a sidecar's death ends all ranks"
    exit 77
fi

work=$(mktemp -d /tmp/rkt_mpi.XXXXXX)
mpirun_pid=
cleanup() {
    [ -z "$mpirun_pid" ] || kill -KILL "$mpirun_pid" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done
export TMPDIR=$work XDG_RUNTIME_DIR=$work/run
mkdir run
ranktrace=$build/bin/ranktrace
flags=(--oversubscribe)
[ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
failures=0

fail() {
    echo "FAILED: $case: $1"
    sed 's/^/    /' out err
    failures=$((failures + 1))
}

code_is() { [ "$code" = "$1" ] || fail "exit code is $code, not $1"; }
says() { grep -qF -- "$1" err || fail "stderr does not say '$1'"; }
count_is() { [ "$(grep -c -- "$1" "$3" || true)" = "$2" ] || fail "'$1' is not $2 times in $3"; }
until_true() { until "$@" >/dev/null 2>&1; do sleep 0.05; done; }
nobody_is_left() { ! pgrep -f "$work/(job|result)" >/dev/null && [ -z "$(ls run)" ]; }

# try RANKS ARGS...: 'ranktrace run ARGS' under mpirun; a hang is exit code 124
try() {
    local ranks=$1
    shift
    rm -rf result
    code=0
    timeout -k 5 60 mpirun -np "$ranks" "${flags[@]}" "$ranktrace" run -o "$work/result" "$@" \
        >out 2>err </dev/null || code=$?
}

timeline_opens() {
    "$ranktrace" report --format json "$work/result" >report.json 2>report.err ||
        fail "the timeline cannot be read: $(cat report.err)"
}

all_four_are_reported() {
    timeline_opens
    python3 - report.json <<'PY' || fail "the report is not about steps of all four ranks"
import json, sys
report = json.load(open(sys.argv[1]))
ranks = sorted(rank["rank"] for rank in report["ranks"])
sys.exit(ranks != [0, 1, 2, 3] or not report["summary"]["step_ns"])
PY
}

cat >job <<'SH'
#!/bin/bash
# job WHAT RANK SECONDS: rank RANK does WHAT to someone; then each runs SECONDS, rank 3 longest
sidecar() { pgrep -P "$1" -f ranktrace-sidecar-mpi; }
if [ "$RANK" = "$2" ]; then
    case $1 in
    kill-job) kill -KILL $$ ;;
    kill-sidecar) kill -KILL "$(sidecar $PPID)" ;;
    kill-supervisor) kill -KILL $PPID ;;
    fail) exit 3 ;;
    esac
fi
sleep "$3"
[ "$RANK" != 3 ] || sleep 2
echo "end of rank $RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE, at $MASTER_ADDR:$MASTER_PORT"
SH
chmod +x job

case="four ranks: each knows who it is, all share one master, one file comes out"
try 4 "$work/job" nothing 0 0
code_is 0
for rank in 0 1 2 3; do
    count_is "end of rank $rank of 4, local $rank of 4" 1 out
done
[ "$(sed -n 's/.*, at //p' out | sort -u | wc -l)" = 1 ] || fail "there is more than one master"
timeline_opens
until_true nobody_is_left

case="a job that is killed ends the others, and mpirun returns its code"
try 4 "$work/job" kill-job 2 600
code_is 137
count_is "end of rank" 0 out
timeline_opens
until_true nobody_is_left

case="--on-failure=wait lets the others run to their end"
try 4 --on-failure wait "$work/job" fail 2 1
code_is 3
count_is "end of rank" 3 out
timeline_opens
until_true nobody_is_left

for rank in 2 0; do
    case="the sidecar of rank $rank is killed: no job notices, mpirun returns 0"
    try 4 "$work/job" kill-sidecar "$rank" 1
    code_is 0
    count_is "end of rank" 4 out
    count_is "the sidecar died" 1 err
    count_is "Open MPI" 0 err # the job need not know that there is any
    timeline_opens
    until_true nobody_is_left
done

case="a supervisor that is killed takes its job with it, and mpirun ends the others"
try 4 "$work/job" kill-supervisor 1 600
[ "$code" != 0 ] && [ "$code" != 124 ] || fail "exit code is $code"
count_is "end of rank" 0 out
until_true nobody_is_left

case="a sidecar that cannot start holds no job up for longer than --hold"
cat >breaks <<SH
#!/bin/bash
# Sidecars of all ranks wait in MPI_Init for the one of rank 1, which is no sidecar at all.
if [ "\$OMPI_COMM_WORLD_RANK" = 1 ]; then
    exec "$work/broken/bin/ranktrace" run "\$@"
fi
exec "$ranktrace" run "\$@"
SH
chmod +x breaks
mkdir -p broken/bin
cp "$build"/bin/ranktrace{,-run,-leave} broken/bin/ 2>/dev/null || true
printf '#!/bin/sh\nexit 1\n' >broken/bin/ranktrace-sidecar-mpi
chmod +x broken/bin/ranktrace-sidecar-mpi
# Open MPI 4.1's mpirun (PMIx 4.2) has a fault of its own here, about once in a hundred runs: clients that died
# within a fence leave its PMIx server with freed memory, at which it crashes or hangs when all is over, or takes
# no good-bye (common/doc/faults.md). It is told apart by mpirun's own trace, which SIGSEGV makes of a hang as
# well, or by the good-bye's line; all jobs have ended well by then.
is_fault_of_mpirun() {
    [ "$code" != 0 ] && [ "$(grep -c "end of rank" out)" = 4 ] &&
        grep -qE 'PMIx_server_finalize|a helper took too long: killed" helper=leave' err
}
for attempt in 1 2 3; do
    code=0
    rm -rf result
    timeout -s SEGV -k 5 60 mpirun -np 4 "${flags[@]}" ./breaks --hold 2s -o "$work/result" \
        "$work/job" nothing 0 0 >out 2>err </dev/null || code=$?
    [ "$attempt" != 3 ] && is_fault_of_mpirun || break
    echo "mpirun failed by itself, with exit code $code, after all jobs had ended well: tried again"
done
code_is 0
count_is "end of rank" 4 out
count_is "not ready in time: the job runs untraced" 3 err
[ "$(sed -n 's/.*, at //p' out | sort -u | wc -l)" = 1 ] || fail "there is more than one master"
until_true nobody_is_left

case="a rank 0 that cannot go on tells the others why"
cat >breaks <<SH
#!/bin/bash
if [ "\$OMPI_COMM_WORLD_RANK" = 0 ]; then
    exec "$work/broken/bin/ranktrace" run "\$@"
fi
exec "$ranktrace" run "\$@"
SH
cat >broken/bin/ranktrace-sidecar-mpi <<SH
#!/bin/sh
rm -rf "\${4%/*}" # the folder of its socket
exec "$build/bin/ranktrace-sidecar-mpi" "\$@"
SH
code=0
timeout -k 5 60 mpirun -np 4 "${flags[@]}" ./breaks --hold 30s -o "$work/result" \
    "$work/job" nothing 0 0 >out 2>err </dev/null || code=$?
code_is 0
count_is "end of rank" 4 out
count_is "rank 0 did not take this rank in.*cannot listen" 3 err
until_true nobody_is_left

case="an MPI_Init that fails, here as rank 1 cannot be reached, ends no job"
cat >unreachable <<SH
#!/bin/bash
[ "\$OMPI_COMM_WORLD_RANK" != 1 ] || export OMPI_MCA_btl=self
exec "$ranktrace" run "\$@"
SH
chmod +x unreachable
code=0
timeout -k 5 60 mpirun -np 4 "${flags[@]}" ./unreachable --hold 1s -o "$work/result" \
    "$work/job" nothing 0 2 >out 2>err </dev/null || code=$?
code_is 0
count_is "end of rank" 4 out
says "MPI_INIT has failed"
until_true nobody_is_left

case="SIGTERM to mpirun ends all; what was stored can be read"
rm -rf result
mpirun -np 4 "${flags[@]}" "$ranktrace" run -o "$work/result" "$work/job" nothing 0 600 \
    >out 2>err </dev/null &
mpirun_pid=$!
until_true sh -c "[ \$(pgrep -cf '^/bin/bash $work/job') = 4 ]"
kill -TERM "$mpirun_pid"
code=0
wait "$mpirun_pid" || code=$?
mpirun_pid=
[ "$code" != 0 ] || fail "exit code is 0"
timeline_opens
until_true nobody_is_left

case="a job that loads MPI itself is told, once"
cat >loads_mpi.py <<'PY'
import ctypes, ctypes.util, time
ctypes.CDLL(ctypes.util.find_library("mpi"))
while "MPI library" not in open("err").read():
    time.sleep(0.1)
PY
try 2 python3 loads_mpi.py
code_is 0
count_is "the job has loaded an MPI library" 1 err

case="torchrun as the command: it sets the ranks itself"
cat >torchrun <<'SH'
#!/bin/bash
echo "rank ${RANK-unset} master ${MASTER_ADDR-unset} socket ${RANKTRACE_SOCKET:+set}"
SH
chmod +x torchrun
try 2 ./torchrun
code_is 0
count_is "rank unset master unset socket set" 2 out

if [ -x "$build/simgpu/simgpu_train" ]; then
    case="two nodes of two ranks: one sidecar serves the ranks of its node"
    cat >torchrun <<'SH'
#!/bin/bash
# Two ranks, as torchrun would start them on this node.
node=$OMPI_COMM_WORLD_RANK
export WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$1
shift
for local in 0 1; do
    RANK=$((2 * node + local)) LOCAL_RANK=$local "$@" &
    pids+=" $!"
done
code=0
for pid in $pids; do wait "$pid" || code=$?; done
exit $code
SH
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
    LD_LIBRARY_PATH=$build/simgpu try 2 ./torchrun "$port" "$build/simgpu/simgpu_train" --steps 3
    code_is 0
    all_four_are_reported
    until_true nobody_is_left

    case="one sidecar a rank, on simulated GPUs"
    LD_LIBRARY_PATH=$build/simgpu try 4 "$build/simgpu/simgpu_train" --steps 3
    code_is 0
    all_four_are_reported
    until_true nobody_is_left
fi

case="a missing command is one line, and nothing is started"
try 4 ./missing
code_is 2
count_is "command './missing' cannot be run" 1 err
[ ! -e result ] || fail "an output folder was made"

case="an output folder that cannot be written is one line"
code=0
timeout -k 5 60 mpirun -np 4 "${flags[@]}" "$ranktrace" run -o /proc/nowhere true \
    >out 2>err </dev/null || code=$?
code_is 1
count_is "cannot make the output folder '/proc/nowhere'" 1 err
until_true nobody_is_left

[ "$failures" -eq 0 ] || exit 1
echo "all passed"
