#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `ranktrace run --step-range NAME`: ranges of this name are the steps, live and in the report, with
# the same numbers; a timeline that was recorded without says the same when the report is asked.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_no_sanitizer

cat >"$work/job.py" <<'EOF'
import ctypes, os, time
library = ctypes.CDLL(os.environ["RANKTRACE_LIBRARY"])
library.ranktrace_range_push.argtypes = [ctypes.c_char_p]
library.ranktrace_step.argtypes = [ctypes.c_uint64]
for i in range(5):
    if "WITH_STEPS" in os.environ:
        library.ranktrace_step(100 + i)  # must not be mixed with the ranges
    library.ranktrace_range_push(b"train_step")
    time.sleep(0.005)
    library.ranktrace_range_pop()
EOF

numbers() {
    python3 -c 'import json, sys
print(*[step["number"] for step in json.load(sys.stdin)["ranks"][0]["steps"]])'
}

WITH_STEPS=1 "$ranktrace" run --no-report --step-range train_step -o "$work/live" -- python3 "$work/job.py"
"$build/tests/store_summary" "$work/live/timeline.rkt" | grep -q ' role=rank .* steps=5 ' ||
    fail "the ranges were not taken for steps"
[ "$("$ranktrace" report --format json "$work/live" | numbers)" = "0 1 2 3 4" ] ||
    fail "the report has other steps"

"$ranktrace" run --no-report -o "$work/later" -- python3 "$work/job.py"
[ "$("$ranktrace" report --format json --step-range train_step "$work/later" | numbers)" = "0 1 2 3 4" ] ||
    fail "the report takes the name otherwise than run does"
