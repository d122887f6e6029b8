# SPDX-License-Identifier: Apache-2.0
# Helpers of the scripts on trees of sidecars; each sources this after lib.sh.
#
#   begin CASE RANKS OPTION... -- COMMAND...   runs it under mpirun, into $work/result; a hang is code 124
#   $wrapper                                   between mpirun and the supervisor
#   complain REASON                            counts a failure, with the case and what it said

job=$build/tests/ring_job
summary=$build/tests/store_summary
failures=0
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done

complain() {
    echo "FAILED: $case: $1"
    sed 's/^/    /' "$work/err" "$work/out"
    failures=$((failures + 1))
}

flags=(--oversubscribe)
[ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
wrapper=()

begin() {
    local options=() ranks=$2
    case=$1
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -rf "$work/result" "$work/out"
    code=0
    RANKTRACE_LOG=info timeout -k 5 60 mpirun -np "$ranks" "${flags[@]}" "${wrapper[@]}" \
        "$build/bin/ranktrace-run" -o "$work/result" --no-report "${options[@]}" -- "$@" \
        >"$work/err" 2>&1 </dev/null || code=$?
    "$summary" "$work/result/timeline.rkt" >"$work/out" 2>>"$work/err" || true
}

code_is() { [ "$code" = "$1" ] || complain "exit code is $code, not $1"; }
has() { grep -qE -- "$1" "$work/out" || complain "no line '$1'"; }
count_is() {
    local n
    n=$(grep -cE -- "$2" "$3" || true)
    [ "$n" = "$1" ] || complain "$n lines '$2' in $(basename "$3"), not $1"
}
# Mpirun can be told that a rank is done whose sidecar died only where PMIx is there.
no_job_failed() { [ ! -x "$build/bin/ranktrace-leave" ] || code_is 0; }

# What jobs recorded, as far as it does not depend on time.
records() { sed -nE 's/.*(role=rank rank=[0-9]+ kernels=[0-9]+ comms=[0-9]+ steps=[0-9]+).*(named=.* cut=[01]).*/\1 \2/p' \
    "$work/out" | sort; }
bundled() { sed -nE 's/.*msg="the file is closed".* bundled=([0-9]+) .*/\1/p' "$work/err"; }

# A job on rank 3 whose sidecar someone stops for a time longer than its group bears.
cat >"$work/stopper" <<SH
#!/bin/sh
sidecar=\$(pgrep -P \$PPID -f ranktrace-sidecar-mpi)
(sleep 1; kill -STOP \$sidecar; sleep 7; kill -CONT \$sidecar) &
exec $job events 90000 step-us 11000
SH
chmod +x "$work/stopper"
