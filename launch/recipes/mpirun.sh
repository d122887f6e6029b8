#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Open MPI, one process per rank:  HOSTS=node0:8,node1:8 ./mpirun.sh python train.py
# The keepalive is Open MPI 4's: without it mpirun misses a host that vanished after 8 minutes, so after 25 s.
exec mpirun -H "$HOSTS" \
    --mca oob_tcp_keepalive_time 10 --mca oob_tcp_keepalive_intvl 5 --mca oob_tcp_keepalive_probes 3 \
    ranktrace run -o "${OUT:-ranktrace-out}" -- "$@"
