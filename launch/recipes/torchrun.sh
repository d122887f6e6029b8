#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torchrun with one sidecar per node:  HOSTS=node0,node1 GPUS=8 ./torchrun.sh train.py
# Each host is named once. The first is where torchrun's processes meet.
head=${HOSTS%%,*}
nodes=$(echo "$HOSTS" | tr ',' '\n' | wc -l)
exec mpirun -H "$HOSTS" --map-by ppr:1:node ranktrace run -o "${OUT:-ranktrace-out}" -- \
    torchrun --nnodes="$nodes" --nproc_per_node="$GPUS" \
    --rdzv_backend=c10d --rdzv_endpoint="$head:${PORT:-29500}" "$@"
