#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Another tool takes CUPTI from a traced job, and leaves again: the job is none the wiser, the tool
# has its records, and the time that we have none of is marked.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_no_sanitizer
export LD_LIBRARY_PATH=$build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# run NAME STEPS THIEF [COMPUTE_US]: the facts that the job prints are in $work/NAME.facts
run() {
    "$ranktrace" run --no-report -o "$work/$1" -- "$build/simgpu/simgpu_train" \
        --steps "$2" --compute-us "${4:-24000}" --thief "$3" >"$work/$1.facts" || fail "$1: the job failed"
}

run short 20 3:5
run finalize 20 3:5:finalize
run long 100 30:99
grep -q '"thief_records":[1-9]' "$work/long.facts" || fail "the other tool got no records"
"$ranktrace" report "$work/long" | tr -s ' \n' ' ' >"$work/report"
grep -q 'GPU work was not recorded for [4-9]\.[0-9]* s, as another tool had CUPTI' "$work/report" ||
    fail "the gap is not marked: $(cat "$work/report")"
# Steps of which nothing was seen are in no statistic.
run middle 400 100:390 8000
"$ranktrace" report "$work/middle" >"$work/report"
grep -q '^steps: [0-9]* recorded of 400, .*median step 2[0-9]\.' "$work/report" ||
    fail "steps without records were measured: $(cat "$work/report")"
