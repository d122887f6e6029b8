#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A timeline of more than 10^9 events and 4 GiB: index, offsets and counts, and without its trailer. Takes minutes and
# 5 GiB of disk.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

ranks=1024
steps=6400
least_free=$((7 << 30))
free=$(df --output=avail -B1 "$work" | tail -n 1)
[ "$free" -ge "$least_free" ] || skip "$free bytes are free in $work; $least_free are needed"

settings=(-s ranks=$ranks -s nodes=128 -s steps=$steps)
file=$work/large.rkt
SECONDS=0
"$ranktrace" simulate -o "$file" "${settings[@]}" >"$work/said"
made=$SECONDS
events=$(sed -n 's/.* \([0-9]*\) events$/\1/p' "$work/said")
bytes=$(wc -c <"$file")
[ "$events" -gt 1000000000 ] || fail "only $events events"
[ "$bytes" -gt $((1 << 32)) ] || fail "only $bytes bytes"

# expect IS_COMPLETE: the counts of what was asked for, and of each rank alike
expect() {
    "$ranktrace" info --format json "$file" >"$work/info.json" || fail "info ended with $?"
    python3 - "$work/info.json" "$events" "$bytes" "$ranks" "$steps" "$1" <<'PY' || fail "info of $bytes bytes"
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    info = json.load(file)
events, size, ranks, steps = map(int, sys.argv[2:6])
health, totals = info["health"], info["totals"]
of_ranks = [source for source in info["sources"] if source["role"] == "rank"]
assert health["is_complete"] == (sys.argv[6] == "true"), health
assert health["file_bytes"] == size, health
assert health["damaged_frames"] == health["missing_frames"] == health["skipped_bytes"] == 0, health
assert health["frames"] > 3 * 65536, "one INDEX frame holds them all"
assert totals["event_count"] == events, totals
assert [source["rank"] for source in of_ranks] == list(range(ranks))
# a step has 128 kernels and 4 collectives, whose records are alike on all ranks
assert {source["events"]["kernel"] for source in of_ranks} == {132 * steps}, totals["events"]
assert len({source["event_count"] for source in of_ranks}) == 1
assert sum(source["event_count"] for source in info["sources"]) == events
PY
}

SECONDS=0
expect true
looked=$SECONDS
truncate -s -64 "$file"
bytes=$((bytes - 64))
expect false
echo "$events events in $bytes bytes: simulated in $made s, looked through in $looked s"
