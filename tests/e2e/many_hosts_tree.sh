#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hosts of which one rank leads the others: groups are hosts, and each leader's file is beside rank 0's where
# the hosts share a folder. No GPU.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/many_hosts_lib.sh"
need_mpi
only_in_dev
in_sandbox "$@"
hosts_up a b c

job=$build/tests/ring_job

# run CASE FOLDER OPTION...: two ranks on each of three hosts
run() {
    local name=$1 folder=$2
    shift 2
    begin "$name" a:2,b:2,c:2 \
        "$ranktrace" run -v -o "$folder" --no-report "$@" -- "$job" events 20000 step-us 2000
    look "$folder/timeline.rkt"
    code_is 0
    has '^run ranks=6 trailer=1 damaged=0 gaps=0 sources=12 '
    rank=0
    for host in a a b b c c; do
        has "role=rank rank=$rank kernels=20000 .* named=20000 end=exited code=0 cut=0 .* node=$rank host=$host "
        rank=$((rank + 1))
    done
    count_is 2 'role=rank rank=[01] .* align=(reference|same_host)'
    count_is 4 'role=rank rank=[2345] .* align=measured'
}

# Leaders of which rank 0 knows files; these are named by their ranks, the first of each host.
files_are() {
    [ "$(find "$1" -name 'timeline-*' | sed -E 's/.*-([0-9]+)\.rkt/\1/' | sort | xargs)" = "$2" ] ||
        complain "files: $(ls "$1")"
}

run "the first rank of each host leads the other" "$work/tree" --fan-in tree
count_is 1 'msg="the file is closed" .* bundled=[1-9][0-9]' log
files_are "$work/tree" ""

run "each leader writes a file" "$work/sharded" --store sharded
files_are "$work/sharded" "2 4"
count_is 1 'msg="leaders wrote files of their own" files=2 whole=2' log

mkdir "$work/disk"
own_disk b "$work/disk"
run "the leader of a host that does not share the folder passes on" "$work/disk/out" --store sharded
files_are "$work/disk/out" "4"
count_is 1 "no file of this node's own: its records go to rank 0" log
[ -z "$(on b ls -A "$work/disk")" ] || complain "a folder was made on b"

exit $((failures > 0))
