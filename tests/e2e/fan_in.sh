#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trees of sidecars under mpirun: the file has the same records as with a star, and it still has when a
# leader is killed or stopped while its group sends. No GPU.
. "$(dirname "$0")/lib.sh"
need_mpi
. "$here/fan_in_lib.sh"

begin "a star" 6 --fan-in star -- "$job" events 60000 threads 2 step-us 500
code_is 0
has '^run ranks=6 trailer=1 damaged=0 gaps=0 sources=12 '
count_is 6 'role=rank .* kernels=120000 .* named=120000 end=exited code=0 cut=0' "$work/out"
[ "$(bundled)" = 0 ] || complain "frames came by leaders: $(bundled)"
records >"$work/star"

for how in tree:2 tree:3 tree:4; do
    begin "the same records by $how" 6 --fan-in "$how" -- "$job" events 60000 threads 2 step-us 500
    code_is 0
    has '^run ranks=6 trailer=1 damaged=0 gaps=0 sources=12 '
    [ "$(bundled)" -gt 20 ] || complain "only '$(bundled)' frames came by leaders"
    records | cmp -s - "$work/star" || complain "other records than a star's: $(records | diff - "$work/star")"
done

begin "one node is one group, and that is rank 0's: no leader" 4 --fan-in tree -- "$job" events 500
code_is 0
[ "$(bundled)" = 0 ] || complain "frames came by leaders: $(bundled)"

begin "leaders relay when their own job has ended long before the others'" 4 --fan-in tree:2 -- \
    sh -c "if [ \$RANK = 2 ]; then exec $job events 500; else exec $job events 20000 step-us 15000; fi"
code_is 0
count_is 3 'role=rank .* kernels=20000 .* end=exited code=0 cut=0' "$work/out"
has 'role=rank rank=2 kernels=500 .* end=exited code=0 cut=0'

# Rank 3 leads 3, 4 and 5. The jobs of the others go on for longer than its silence is borne.
long="exec $job events 90000 step-us 10000"
begin "a leader that is killed takes nothing of its group with it" 6 --fan-in tree:3 -- \
    sh -c "if [ \$RANK = 3 ]; then exec $job events 5000 step-us 20000 kill-sidecar; else $long; fi"
no_job_failed
has '^run ranks=6 trailer=1 damaged=0 gaps=0 '
count_is 5 'role=rank rank=[^3] kernels=90000 .* named=90000 end=exited code=0 cut=0' "$work/out"
has 'rank=3 .* end=lost'
count_is 2 'the leader is silent: frames go to rank 0 directly' "$work/err"

begin "a leader that stands still loses nothing, and leaves with the others" 6 --fan-in tree:3 -- \
    sh -c "if [ \$RANK = 3 ]; then exec $work/stopper; else exec $job events 90000 step-us 10000; fi"
code_is 0
has '^run ranks=6 trailer=1 damaged=0 gaps=0 '
count_is 6 'role=rank .* kernels=90000 .* named=90000 end=exited code=0 cut=0' "$work/out"
count_is 2 'the leader is silent: frames go to rank 0 directly' "$work/err"

begin "what --fan-in may be is said" 2 --fan-in ring -- true
code_is 2
count_is 1 "option '--fan-in': 'ring' is not star, tree, tree:K or auto" "$work/err"

exit $((failures > 0))
