#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training on many hosts: simulated GPUs, whose report must name the slow rank; PyTorch's own processes by
# gloo; torchrun with one sidecar a node.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/many_hosts_lib.sh"
need_mpi
only_in_dev
in_sandbox "$@"
# NCCL's stand-in has one clock and one shared memory for all its ranks. The boot ids differ all the
# same: ranktrace takes these for different clocks, whose true offset is 0.
HOSTS_GAP_S=0
hosts_up a b
mkdir "$work/fabric"
for host in a b; do on "$host" mount --bind "$work/fabric" /dev/shm; done

says() { grep -qE -- "$1" "$work/log" || complain "not said: '$1'"; }

flags=(-x "LD_LIBRARY_PATH=$build/simgpu")
begin "a slow rank on the other host" a:2,b:2 "$ranktrace" run -o "$work/simgpu" -- \
    "$build/simgpu/simgpu_train" --steps 12 --scenario slow-compute --slow-rank 2
flags=()
code_is 0
look "$work/simgpu/timeline.rkt"
count_is 2 'role=rank rank=[23] .* align=measured .* host=b '
says '^4 ranks, 2 hosts, '
says '^clock: aligned, guaranteed \+- '
says 'Rank 2 holds the others up'
says 'no record is known to be lost'
count_is 0 'by more than the clocks' log

need_torch
begin "PyTorch by gloo" a:1,b:1 "$ranktrace" run -o "$work/gloo" -- \
    "$python" "$here/train_ddp.py" --steps 8 --print-result
code_is 0
says '^2 ranks, 2 hosts, '
says '"world": 2'

# The defaults of --redirects and --tee break torch 1.13 under Python 3.11.
begin "torchrun on each host" a:1,b:1 "$ranktrace" run -o "$work/torchrun" -- \
    "$python" -m torch.distributed.run --nnodes=2 --nproc_per_node=1 --rdzv_backend=c10d \
    --rdzv_endpoint=a:29500 --redirects 1 --tee 1 "$here/train_ddp.py" --steps 8 --print-result
code_is 0
says '^2 ranks, 2 hosts, '
says '"world": 2'
look "$work/torchrun/timeline.rkt"
count_is 1 'role=rank .* node=0 host=a '
count_is 1 'role=rank .* node=1 host=b '

exit $((failures > 0))
