# SPDX-License-Identifier: Apache-2.0
# Cases under mpirun, one after the other; sourced after lib.sh.
#
#   begin CASE RANKS OPTION... -- COMMAND...   runs it under mpirun, into $work/result; a hang is code 124
#   $wrapper                                   between mpirun and the supervisor
#   $work/out, $work/err                       what the timeline holds, and what was said
#   begin_ended CASE OPTION...                 four ranks, whose mpirun gets TERM once 700 events of each are stored;
#                                              their jobs ignore TERM
#   complain REASON                            counts a failure in $failures, with the case and what it said

job=$build/tests/ring_job
summary=$build/tests/store_summary
failures=0
shown=
wrapper=()
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done

complain() {
    echo "FAILED: $case: $1"
    [ "$case" = "$shown" ] || sed 's/^/    /' "$work/err" "$work/out"
    shown=$case
    failures=$((failures + 1))
}

begin() {
    local options=() ranks=$2 args=(--oversubscribe)
    case=$1
    shift 2
    [ "$(id -u)" -ne 0 ] || args+=(--allow-run-as-root)
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -rf "$work/result" "$work/out"
    code=0
    RANKTRACE_LOG=info timeout -k 5 60 mpirun -np "$ranks" "${args[@]}" "${wrapper[@]}" \
        "$build/bin/ranktrace-run" -o "$work/result" --no-report "${options[@]}" -- "$@" \
        >"$work/err" 2>&1 </dev/null || code=$?
    "$summary" "$work/result/timeline.rkt" >"$work/out" 2>>"$work/err" || true
}

begin_ended() {
    local mpirun
    case=$1
    shift
    rm -rf "$work/result" "$work/out"
    mpi 4 "$build/bin/ranktrace-run" -o "$work/result" --no-report "$@" -- \
        sh -c "trap '' TERM; exec $job events 700 sleep-ms 60000" >"$work/err" 2>&1 &
    mpirun=$!
    until "$summary" "$work/result/timeline.rkt" 2>/dev/null | grep -c 'kernels=700' | grep -qx 4; do
        kill -0 "$mpirun" || break
        sleep 0.1
    done
    kill -TERM "$(pgrep -P "$mpirun" mpirun || echo "$mpirun")"
    wait "$mpirun" || true
    until "$summary" "$work/result/timeline.rkt" >"$work/out" && ! pgrep -f "$work/result" >/dev/null; do
        sleep 0.1
    done
}

code_is() { [ "$code" = "$1" ] || complain "exit code is $code, not $1"; }
has() { grep -qE -- "$1" "$work/out" || complain "no line '$1'"; }
# count_is N PATTERN [FILE]
count_is() {
    local file=${3:-$work/out} n
    n=$(grep -cE -- "$2" "$file" || true)
    [ "$n" = "$1" ] || complain "$n lines '$2' in $(basename "$file"), not $1"
}
# Mpirun can be told that a rank is done whose sidecar died only where PMIx is there.
no_job_failed() { [ ! -x "$build/bin/ranktrace-leave" ] || code_is 0; }
