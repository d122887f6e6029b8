#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in which leaders write files of their own: every reader sees the same records as in one file, also
# when a leader is killed or stopped, when rank 0 does not see its file, and when its disk is full. No GPU.
. "$(dirname "$0")/lib.sh"
need_mpi
. "$here/fan_in_lib.sh"

shards() { find "$work/result" -name 'timeline-*.rkt' | wc -l; }
shards_are() { [ "$(shards)" = "$1" ] || complain "$(shards) files beside the timeline, not $1"; }
said() { sed -nE 's/.*msg="leaders wrote files of their own" (.*)/\1/p' "$work/err"; }

begin "one file" 6 --store single -- "$job" events 60000 threads 2 step-us 500
code_is 0
shards_are 0
records >"$work/single"

begin "the same records in files of three leaders" 6 --store sharded --fan-in tree:2 -- \
    "$job" events 60000 threads 2 step-us 500
code_is 0
shards_are 2
[ "$(said)" = "files=2 whole=2" ] || complain "rank 0 says '$(said)'"
has '^run ranks=6 trailer=1 damaged=0 gaps=0 sources=12 '
records | cmp -s - "$work/single" || complain "other records: $(records | diff - "$work/single")"
count_is 5 'role=sidecar .* exchanges=[1-9].* align=same_host' "$work/out"
"$ranktrace" info "$work/result" >"$work/info" || complain "info failed"
count_is 6 ' rank +[0-9]+ +[0-9]+ +120[0-9]+ .* exit 0 ' "$work/info"
"$ranktrace" report --format json "$work/result" >"$work/report.json" 2>>"$work/err" ||
    complain "report failed"
python3 - "$work/report.json" <<'PY' || complain "the report is not about six ranks"
import json, sys
sys.exit(sorted(rank["rank"] for rank in json.load(open(sys.argv[1]))["ranks"]) != list(range(6)))
PY

case="a later run in the same folder takes nothing of an earlier one"
code=0
mpi 4 "$build/bin/ranktrace-run" -o "$work/result" --no-report \
    --store sharded --fan-in tree:2 -- "$job" events 500 >"$work/err" 2>&1 || code=$?
code_is 0
shards_are 3
"$summary" "$work/result/timeline.1.rkt" >"$work/out"
records | cmp -s - "$work/single" || complain "the earlier one has other records now"
"$summary" "$work/result/timeline.rkt" >"$work/out"
count_is 4 'role=rank .* kernels=500 .* end=exited code=0 cut=0' "$work/out"

# Rank 3 leads 3, 4 and 5.
long="exec $job events 90000 step-us 10000"
begin "a leader that is killed leaves its file, and its group goes on in rank 0's" 6 \
    --store sharded --fan-in tree:3 -- \
    sh -c "if [ \$RANK = 3 ]; then exec $job events 5000 step-us 20000 kill-sidecar; else $long; fi"
no_job_failed
shards_are 1
has '^run ranks=6 trailer=0 damaged=0 gaps=0 '
count_is 5 'role=rank rank=[^3] kernels=90000 .* named=90000 end=exited code=0 cut=0' "$work/out"
has 'rank=3 .* end=lost'
count_is 2 'the leader is silent: frames go to rank 0 directly' "$work/err"

begin "a leader that stands still loses nothing, and closes its file" 6 \
    --store sharded --fan-in tree:3 -- \
    sh -c "if [ \$RANK = 3 ]; then exec $work/stopper; else exec $job events 90000 step-us 10000; fi"
code_is 0
has '^run ranks=6 trailer=1 damaged=0 gaps=0 '
count_is 6 'role=rank .* kernels=90000 .* named=90000 end=exited code=0 cut=0' "$work/out"

# on_leader COMMAND: the supervisor of rank 3 gets a COMMAND before it.
on_leader() {
    cat >"$work/wrapper" <<SH
#!/bin/bash
[ "\$OMPI_COMM_WORLD_RANK" != 3 ] || { $1; }
exec "\$@"
SH
    chmod +x "$work/wrapper"
    wrapper=("$work/wrapper")
}

# A file size limit is as a full disk: the job writes no file, and what its sidecar keeps is small.
on_leader "ulimit -f 24"
begin "what a leader cannot write is kept by its group" 6 --store sharded --fan-in tree:3 -- \
    "$job" events 200000 threads 2 step-us 500
code_is 0
count_is 1 'comp=aggregator.*the file cannot be written any more' "$work/err"
"$ranktrace" recover -o "$work/whole.rkt" "$work/result" >>"$work/err" 2>&1 || complain "recover failed"
"$summary" "$work/whole.rkt" >"$work/out"
for rank in 0 1 2 4 5; do
    has "role=rank rank=$rank kernels=400000 .* named=400000 end=exited code=0 cut=0"
done

if unshare -m true 2>/dev/null; then
    cat >"$work/wrapper" <<SH
#!/bin/bash
# Rank 3 sees another file system where the output folder is.
[ "\$OMPI_COMM_WORLD_RANK" = 3 ] || exec "\$@"
mkdir -p "$work/result"
exec unshare -m sh -c 'mount -t tmpfs none "$work/result" && exec "\$@"' - "\$@"
SH
    wrapper=("$work/wrapper")
    begin "a leader whose file rank 0 does not see sends its records" 6 \
        --store sharded --fan-in tree:3 -- "$job" events 60000 threads 2 step-us 500
    code_is 0
    shards_are 0
    count_is 1 "no file of this node's own: its records go to rank 0" "$work/err"
    has '^run ranks=6 trailer=1 damaged=0 gaps=0 '
    records | cmp -s - "$work/single" || complain "other records: $(records | diff - "$work/single")"
else
    echo "skipped: no mount here (unshare -m), so no folder that is not shared"
fi
wrapper=()

begin_ended "files are complete when mpirun is ended by a signal" --store sharded --fan-in tree:2
has '^run ranks=4 trailer=1 damaged=0 gaps=0'
count_is 4 'role=rank .* kernels=700 .* cut=1' "$work/out"
shards_are 1

begin "leaders are needed for it" 2 --store sharded --fan-in star -- true
code_is 2
count_is 1 "'--fan-in star' has none" "$work/err"

exit $((failures > 0))
