#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The torch hook with the machine's PyTorch: the lines that call .item() and the like are in the
# timeline, no others, and the program is none the wiser. Off by option.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_torch
need_no_sanitizer

sites() {
    "$ranktrace" export -f chrome -o "$work/trace.json" "$1/timeline.rkt"
    "$python" - "$work/trace.json" <<'EOF'
import json, sys
events = json.load(open(sys.argv[1]))
events = events["traceEvents"] if isinstance(events, dict) else events
for event in events:
    if event.get("cat") == "sync call":
        print(event["args"]["site"].rsplit("/", 1)[-1], event["name"])
EOF
}

RANKTRACE_SYNC_LINES=all "$ranktrace" run --no-report -o "$work/all" -- "$python" "$here/sync_job.py" ||
    fail "the program noticed the hook"
sites "$work/all" | sort >"$work/got"
grep -n '# told$' "$here/sync_job.py" | cut -d: -f1 | sed 's/^/sync_job.py:/' | sort >"$work/want"
diff <(cut -d' ' -f1 "$work/got" | sort -u) "$work/want" || fail "other lines than these were told: see above"
for call in item tolist __bool__ __int__ __float__ cpu numpy; do
    grep -q " Tensor.$call\$" "$work/got" || fail "Tensor.$call was not told"
done
[ "$(grep -c " Tensor.item\$" "$work/got")" = 3 ] || fail "item() is not told three times"

RANKTRACE_SYNC_LINES=all "$ranktrace" run --no-report --no-sync-lines -o "$work/off" -- \
    "$python" "$here/sync_job.py" || fail "the program fails without the hook"
[ -z "$(sites "$work/off")" ] || fail "--no-sync-lines does not turn it off"
