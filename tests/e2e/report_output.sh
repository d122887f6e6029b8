#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where a report goes: a file appears whole or not at all, and what is no plain file stays what it is.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ -x "$build/bin/ranktrace-merge" ] || skip "this build has no ranktrace-merge (no simdjson)"

cat >"$work/rank0.json" <<'JSON'
{"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000, "dur": 20,
  "args": {"device": 0, "stream": 7, "correlation": 1}}]}
JSON
"$ranktrace" merge --quiet -o "$work/one.rkt" "$work/rank0.json"

"$ranktrace" report -o "$work/page.txt" "$work/one.rkt"
grep -q '^ranktrace report:' "$work/page.txt" || fail "no report in the file"
[ ! -e "$work/page.txt.part" ] || fail "a partial file was left behind"

ln -s page.txt "$work/link"
"$ranktrace" report --format json -o "$work/link" "$work/one.rkt"
[ -L "$work/link" ] || fail "a link was replaced by a file"
grep -q '"schema_version"' "$work/page.txt" || fail "the link was not followed"

mkfifo "$work/pipe"
"$ranktrace" report -o "$work/pipe" "$work/one.rkt" &
writer=$!
grep -q '^ranktrace report:' "$work/pipe" || fail "nothing came through the pipe"
wait "$writer"
[ -p "$work/pipe" ] || fail "a pipe was replaced by a file"

if [ -c /dev/full ]; then
    ln -s /dev/full "$work/full"
    if "$ranktrace" report -o "$work/full" "$work/one.rkt" 2>"$work/error"; then
        fail "a full device is no error"
    fi
    [ "$(wc -l <"$work/error")" -eq 1 ] || fail "not one line: $(cat "$work/error")"
    [ -L "$work/full" ] && [ -c /dev/full ] || fail "a device was removed"
fi

code=0
"$ranktrace" report -o "$work/none/page.txt" "$work/one.rkt" 2>/dev/null || code=$?
[ "$code" -eq 1 ] || fail "a folder that is not there gave exit code $code"
for words in "--format xml $work/one.rkt" "" "$work/one.rkt $work/one.rkt"; do
    code=0
    # shellcheck disable=SC2086 # several words
    "$ranktrace" report $words 2>/dev/null || code=$?
    [ "$code" -eq 2 ] || fail "'report $words' gave exit code $code"
done
