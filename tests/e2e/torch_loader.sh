#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real DataLoader workers: forked ones write nothing, spawned ones are helpers of the rank; and two ranks
# of one sidecar, as torchrun starts them.
. "$(dirname "$0")/lib.sh"
need_torch
need_no_sanitizer
for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|TORCHELASTIC_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done
library=$build/lib/libranktrace.so
mkdir "$work/bin"
marks=32 # of training: 2 epochs of 16 batches

# run NAME COMMAND...: the summary of its store in $work/NAME.txt
run() {
    local name=$1
    shift
    "$ranktrace" run --no-report -o "$work/$name" -- "$@" >"$work/$name.out" 2>&1 ||
        fail "$name: $(cat "$work/$name.out")"
    "$build/tests/store_summary" "$work/$name/timeline.rkt" >"$work/$name.txt"
}
# has NAME COUNT PATTERN
has() {
    local n
    n=$(grep -cE -- "$3" "$work/$1.txt" || true)
    [ "$n" = "$2" ] || fail "$1: $n lines '$3', not $2: $(cat "$work/$1.txt" "$work/$1.out")"
}

run fork "$python" "$here/torch_loader.py" "$library" fork
has fork 1 "role=rank rank=0 .* marks=$marks "
has fork 0 "role=helper"

run spawn "$python" "$here/torch_loader.py" "$library" spawn
has spawn 1 "role=rank rank=0 .* marks=$marks "
has spawn 6 "role=helper rank=0 .* marks=(20|24) " # three workers in each epoch

# As torchrun starts its workers; that of Debian's torch 1.13 fails under Python 3.11.
cat >"$work/bin/torchrun" <<EOF
#!$python
import os, subprocess, sys
workers = [subprocess.Popen([sys.executable] + sys.argv[1:], env=dict(
    os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2",
    TORCHELASTIC_RUN_ID="none", TORCHELASTIC_RESTART_COUNT="0")) for rank in range(2)]
sys.exit(max([worker.wait() for worker in workers]))
EOF
chmod +x "$work/bin/torchrun"
run torchrun "$work/bin/torchrun" "$here/torch_loader.py" "$library" fork
for rank in 0 1; do
    has torchrun 1 "role=rank rank=$rank .* marks=$marks .* cut=0"
done
has torchrun 2 "role=rank"
