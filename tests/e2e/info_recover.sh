#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is in a timeline, whole, cut and damaged; and a clean copy of what is whole of it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

whole=$root/tests/data/wire/v1.0-store.bin
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 # store_frames.py

# The numbers that a JSON info must have: KEY.KEY ... VALUE pairs.
expect() {
    local file=$1
    shift
    "$ranktrace" info --format json "$file" >"$work/info.json" || true
    /usr/bin/env python3 - "$work/info.json" "$@" <<'PY' || fail "info of $file"
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    info = json.load(file)
words = sys.argv[2:]
bad = 0
for path, want in zip(words[::2], words[1::2]):
    value = info
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    if json.dumps(value) != want:
        print(f"{path} is {json.dumps(value)}, not {want}")
        bad = 1
sys.exit(bad)
PY
}

expect "$whole" health.is_complete true health.damaged_frames 0 totals.event_count 112 \
    totals.events.kernel 8 totals.events.loss 8 sources.0.rank 0 sources.1.rank 1 \
    sources.1.event_count 56 sources.0.clock '"measured"' sources.0.clock_bound_ns 300 \
    sources.0.ended '"signal 9"' run.command '"python train.py"'
"$ranktrace" info "$whole" >"$work/text"
grep -q 'complete; ' "$work/text" || fail "a whole file is not called complete"
grep -q 'kernel 8' "$work/text" || fail "no count of kernels"
[ "$(grep -c 'measured +- 300 ns' "$work/text")" -eq 2 ] || fail "the clocks are not shown"
[ "$(awk 'length > 130' "$work/text" | wc -l)" -eq 0 ] || fail "lines are too long"

# What steered REALTIME: a state of each sidecar, one of them "nobody".
states=$root/tests/data/wire/v1.4-store.bin
expect "$states" sources.1.realtime.is_steered false sources.1.realtime.claimed_error_ns 330000000003 \
    sources.1.realtime.frequency_ppb 3500003 sources.1.realtime.status 3600003
expect "$whole" sources.0.realtime null sources.0.clocksource '""'
"$ranktrace" info "$states" >"$work/text"
grep -qx '  clocks    REALTIME steered on 0 of 2 nodes' "$work/text" || fail "not steered: $(cat "$work/text")"

# Clock records without the alignments that come of them, as in a run that was cut: they are the last frames.
"$ranktrace" simulate -o "$work/stored.rkt" -s ranks=4 -s nodes=2 -s clock-offset=3ms >/dev/null
expect "$work/stored.rkt" sources.5.clock '"measured"' sources.5.clock_is_stored true
"$ranktrace" align "$work/stored.rkt" >"$work/text"
[ "$(grep -c '(as stored)$' "$work/text")" -eq 4 ] || fail "align of what was stored: $(cat "$work/text")"
python3 - "$work/stored.rkt" "$work/made.rkt" <<'PY' || fail "no alignment is stored"
import struct, sys
HEAD, KIND, PACKED, ALIGN = 32, 5, 20, 6
data = open(sys.argv[1], "rb").read()
at = 0
while data[at + KIND] != ALIGN:
    at += HEAD + struct.unpack_from("<I", data, at + PACKED)[0]
open(sys.argv[2], "wb").write(data[:at])
PY
expect "$work/made.rkt" sources.0.clock '"reference"' sources.1.clock '"measured"' sources.5.clock '"measured"' \
    sources.5.clock_is_stored false
expect "$whole" sources.0.clock_is_stored true
"$ranktrace" info "$work/made.rkt" >"$work/text"
grep -q '^  aligned   now, from clock records: the file has no alignment of 6 of 6 sources$' "$work/text" ||
    fail "it is not said what is not stored: $(cat "$work/text")"
"$ranktrace" align -o "$work/aligned.rkt" "$work/made.rkt" >"$work/text"
[ "$(grep -c '^rank [0-3] on node[01]: .* *(not stored)$' "$work/text")" -eq 4 ] || fail "align: $(cat "$work/text")"
"$ranktrace" align "$work/aligned.rkt" >"$work/text"
[ "$(grep -c '(as stored)$' "$work/text")" -eq 4 ] || fail "align again: $(cat "$work/text")"
"$ranktrace" info "$work/aligned.rkt" >"$work/text"
! grep -q '^  aligned ' "$work/text" || fail "what is stored is called made: $(cat "$work/text")"

# Cut inside its last frames: everything before is still there, and a copy of it is complete.
size=$(wc -c <"$whole")
head -c $((size - 70)) "$whole" >"$work/cut.rkt"
expect "$work/cut.rkt" health.is_complete false totals.event_count 112
"$ranktrace" recover -o "$work/clean.rkt" "$work/cut.rkt" >"$work/said"
grep -q 'frames kept' "$work/said" || fail "recover says nothing of what it kept"
expect "$work/clean.rkt" health.is_complete true health.skipped_bytes 0 totals.event_count 112 \
    sources.1.event_count 56 run.command '"python train.py"'

# One byte of one batch is wrong: that batch is lost, and said; the copy has no damage.
python3 - "$whole" "$work/bad.rkt" <<'PY'
import sys

with open(sys.argv[1], "rb") as file:
    data = bytearray(file.read())
at = data.find(b"RKTF", 1000)
data[at + 32 + 5] ^= 0xFF
with open(sys.argv[2], "wb") as file:
    file.write(data)
PY
code=0
"$ranktrace" info "$work/bad.rkt" >"$work/text" || code=$?
[ "$code" -eq 1 ] || fail "damage gave exit code $code"
grep -q ', 1 damaged' "$work/text" || fail "damage is not said: $(cat "$work/text")"
"$ranktrace" recover --force -o "$work/clean.rkt" "$work/bad.rkt" >"$work/said"
grep -q '1 damaged ones left behind' "$work/said" || fail "recover hides damage: $(cat "$work/said")"
expect "$work/clean.rkt" health.is_complete true health.damaged_frames 0

# Rank 0 took rank 1 for lost and gave numbers to what it said of it; the rank had gone on with the same
# numbers, in its spool. Both are kept.
mkdir "$work/lost"
python3 - "$whole" "$work/lost" <<'PY'
import sys

import store_frames as store

frames = store.read(sys.argv[1])
batch = store.first_batch(frames, 1)
align = next(i for i, frame in enumerate(frames) if store.source(frame) == 1 and store.kind(frame) == store.ALIGN)
head = bytearray(frames[align][:28])
head[12:16] = frames[batch][12:16]
same_number = store.with_head(head, frames[align][store.HEAD_BYTES:])
with open(sys.argv[2] + "/ranktrace-spool-1-9-a.rkt", "wb") as file:
    file.write(frames[batch])
with open(sys.argv[2] + "/ranktrace-spool-0-8-a.rkt", "wb") as file:
    file.write(frames[0])  # of which all was acknowledged: only whose it was is left
with open(sys.argv[2] + "/timeline.rkt", "wb") as file:
    file.write(b"".join(same_number if i == batch else frame for i, frame in enumerate(frames) if i != align))
PY
: >"$work/lost/ranktrace-spool-1-9-b.rkt" # whose disk was full
# A timeline says nothing of the spools beside it; info and report do.
expect "$work/lost" health.spools 1 health.spool_bytes "$(wc -c <"$work/lost/ranktrace-spool-1-9-a.rkt")"
"$ranktrace" info "$work/lost" >"$work/text" || true # the file is damaged as well
grep -q "^  spools    1 files beside it, .*'ranktrace recover'" "$work/text" ||
    fail "info hides the spool: $(cat "$work/text")"
"$ranktrace" report "$work/lost" | tr -s ' \n' ' ' >"$work/text"
grep -q "LOSSES AND LIMITS spools: 1 files beside the timeline .* 'ranktrace recover' adds them" "$work/text" ||
    fail "the report hides the spool: $(cat "$work/text")"
"$ranktrace" recover --force -o "$work/clean.rkt" "$work/lost" >"$work/said"
grep -q ', 1 of them from spools' "$work/said" || fail "the spool's frame was left out: $(cat "$work/said")"
expect "$work/clean.rkt" health.is_complete true totals.event_count 112 sources.1.event_count 56 \
    sources.1.clock '"measured"' health.spools 0

# Without its timeline, a run's folder still has something to recover; one with nothing has not.
rm "$work/lost/timeline.rkt"
for command in info report; do
    ! "$ranktrace" "$command" "$work/lost" >"$work/text" 2>"$work/error" || fail "$command read what is not there"
    grep -q "timeline.rkt is not there, but 0 shards and 1 spools .*'ranktrace recover'" "$work/error" ||
        fail "$command does not say what is left: $(cat "$work/error")"
done
rm "$work/lost/ranktrace-spool-1-9-a.rkt"
! "$ranktrace" info "$work/lost" >"$work/text" 2>"$work/error" || fail "info read an empty folder"
grep -q 'cannot read .*No such file' "$work/error" || fail "an empty folder: $(cat "$work/error")"

# A folder whose files are of several runs: FILE RUN... writes frames of $whole behind a RUN frame of that run.
# RUN 0: without one; the timeline has all frames but the first batch of rank 1, spools have that one.
store() {
    python3 - "$whole" "$@" <<'PY'
import struct
import sys
import zlib

import store_frames as store

frames = store.read(sys.argv[1])
batch = store.first_batch(frames, 1)
old_run = next(frame for frame in frames if store.kind(frame) == store.RUN)
for path, run in zip(sys.argv[2::2], sys.argv[3::2]):
    is_part = b"\x08\xc3" if "timeline-" in path else b"\x08\xc2"
    raw = b"\x82\x07\xcf" + struct.pack(">Q", int(run)) + is_part
    head = old_run[:16] + struct.pack("<III", len(raw), len(raw), zlib.crc32(raw))
    first = [store.with_head(head, raw)] if run != "0" else []
    others = [frame for i, frame in enumerate(frames) if store.kind(frame) != store.RUN and i != batch]
    rest = [frames[batch]] if "spool" in path else others
    with open(path, "wb") as file:
        file.write(b"".join(first + rest))
PY
}

# recover CODE ARGUMENT...: what it says is in $work/said.
recover() {
    local want=$1
    shift
    code=0
    "$ranktrace" recover --force -o "$work/clean.rkt" "$@" >"$work/said" 2>&1 || code=$?
    [ "$code" -eq "$want" ] || fail "recover $* gave exit code $code: $(cat "$work/said")"
}

says() { grep -qE -- "$1" "$work/said" || fail "recover does not say '$1': $(cat "$work/said")"; }
lines_are() { [ "$(wc -l <"$work/said")" -eq "$1" ] || fail "not $1 lines: $(cat "$work/said")"; }

# Spools that an earlier run left are not of this one; without an id, nothing speaks against a spool. The
# name of the folder is no pattern.
runs="$work/run[1]*"
mkdir "$runs"
store "$runs/timeline.rkt" 17 "$runs/ranktrace-spool-1-8-a.rkt" 16
recover 0 "$runs"
says 'left out .*/ranktrace-spool-1-8-a.rkt: it is of run 0000000000000010, not of 0000000000000011$'
! grep -q 'from spools' "$work/said" || fail "a spool of another run went in: $(cat "$work/said")"
lines_are 2
for id in 17 0; do
    store "$runs/ranktrace-spool-1-9-a.rkt" "$id"
    recover 0 "$runs"
    says ', 1 of them from spools'
    lines_are 2
    expect "$work/clean.rkt" totals.event_count 112 sources.1.event_count 56
done

# Who names a file of another run is told, and nothing is written.
rm "$work/clean.rkt"
store "$work/other.rkt" 18
for other in "$runs/ranktrace-spool-1-8-a.rkt" "$work/other.rkt"; do
    recover 2 "$runs" "$other"
    says "files of several runs, 00000000000000(10|11|12) and 00000000000000(10|11|12): "
    lines_are 1
done
recover 2 "$runs/ranktrace-spool-1-8-a.rkt" "$work/other.rkt"
[ ! -e "$work/clean.rkt" ] || fail "files of two runs made one"

# One file that cannot be read does not stand for the others: garbage beside a timeline, garbage for one.
rm "$runs"/*-8-a.rkt
head -c 5000 "$root/README.md" >"$runs/ranktrace-spool-1-8-b.rkt"
store "$runs/timeline.rkt" 17 "$runs/ranktrace-spool-1-9-a.rkt" 17
recover 0 "$runs"
says 'left out .*/ranktrace-spool-1-8-b.rkt: '
says ', 1 of them from spools'
lines_are 2
shard=$runs/timeline-0000000000000011-0
mv "$runs/timeline.rkt" "$work/timeline.rkt"
store "$shard.rkt" 17 "$runs/timeline-0000000000000012-0.rkt" 18
head -c 5000 "$root/README.md" >"$shard""1.rkt"
recover 2 "$runs" # nothing says which run
says 'files of several runs, 0000000000000012 and 0000000000000011: .*-0000000000000012-0.rkt and '
head -c 5000 "$root/README.md" >"$runs/timeline.rkt"
recover 2 "$runs"
rm "$runs/timeline-0000000000000012-0.rkt"
recover 0 "$runs"
says 'left out .*/timeline.rkt: '
says 'left out .*/timeline-0000000000000011-01.rkt: '
lines_are 4
expect "$work/clean.rkt" totals.event_count 112 sources.1.event_count 56

# A timeline that broke off before it named its shards: they are found, and those of others are not taken.
store "$runs/timeline.rkt" 17 "$runs/timeline-0000000000000012-0.rkt" 18
head -c 60 "$runs/timeline.rkt" >"$work/head"
mv "$work/head" "$runs/timeline.rkt"
recover 0 "$runs"
says 'left out .*/timeline-0000000000000012-0.rkt: it is of run 0000000000000012, not of 0000000000000011$'
lines_are 4
expect "$work/clean.rkt" totals.event_count 112 sources.1.event_count 56

# Nothing that can be read: one line, and no file.
rm "$work/clean.rkt" "$runs"/*
head -c 5000 "$root/README.md" | tee "$runs/timeline.rkt" >"$runs/ranktrace-spool-1-8-b.rkt"
recover 1 "$runs"
lines_are 1
[ ! -e "$work/clean.rkt" ] || fail "a file was made of nothing"
head -c $((size - 70)) "$whole" >"$work/clean.rkt"

# A frame that never arrived is a loss, which the report shows.
python3 - "$whole" "$work/gap.rkt" <<'PY'
import sys

import store_frames as store

frames = store.read(sys.argv[1])
batch = store.first_batch(frames, 1)
with open(sys.argv[2], "wb") as file:
    file.write(b"".join(frames[:batch] + frames[batch + 1:]))
PY
code=0
"$ranktrace" info "$work/gap.rkt" >"$work/text" || code=$?
[ "$code" -eq 1 ] || fail "info of a file with a missing frame gave exit code $code"
"$ranktrace" report "$work/gap.rkt" >"$work/text"
grep -q ' and 1 missing frames' "$work/text" || fail "the report hides a missing frame: $(cat "$work/text")"
! grep -q 'no record is known to be lost' "$work/text" || fail "the report says that nothing is lost"

# Wrong use: one line, code 2, and nothing is overwritten.
refused() {
    code=0
    "$ranktrace" "$@" >/dev/null 2>"$work/error" || code=$?
    [ "$code" -eq 2 ] || fail "'$*' gave exit code $code"
    [ "$(wc -l <"$work/error")" -eq 1 ] || fail "not one line: $(cat "$work/error")"
}
refused info
refused info "$whole" "$whole"
refused info --format yaml "$whole"
refused recover "$work/cut.rkt"
refused recover -o "$work/clean.rkt" "$work/cut.rkt"
refused recover --force -o "$work/cut.rkt" "$work/cut.rkt"
cmp -s <(head -c $((size - 70)) "$whole") "$work/cut.rkt" || fail "the broken file was changed"
for command in info "recover -o $work/none.rkt"; do
    code=0
    # shellcheck disable=SC2086 # several words
    "$ranktrace" $command "$root/README.md" >/dev/null 2>"$work/error" || code=$?
    [ "$code" -eq 1 ] || fail "$command of a text gave exit code $code"
    [ ! -e "$work/none.rkt" ] || fail "a file was left behind"
done

# Names that find no room: their records are not lost.
RANKTRACE_HEAP_BYTES=64KiB "$ranktrace" run --no-report -o "$work/names" -- \
    "$build/tests/mark_job" threads 1 rate 20000 ms 500 names 10000 || fail "the job with many names failed"
"$ranktrace" info "$work/names/timeline.rkt" >"$work/text"
grep -q '^  lost      none$' "$work/text" || fail "records without a name are called lost: $(cat "$work/text")"
grep -q '^  unnamed   [1-9][0-9]* records' "$work/text" || fail "records without a name are not counted"
"$ranktrace" report "$work/names/timeline.rkt" | tr -s ' \n' ' ' >"$work/text"
grep -q 'records have no name' "$work/text" || fail "the report does not say what has no name"
