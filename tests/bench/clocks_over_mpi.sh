#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How near alignments are to clocks whose truth is known, over real MPI on one host and on two: tables as
# that of bench_clocks. What cannot run here says why.
#
#   clocks_over_mpi.sh BUILD_FOLDER
set -euo pipefail
e2e=$(dirname "$0")/../e2e

for script in clock_exchange clock_hosts; do
    "$e2e/$script.sh" "$1" bench || [ $? -eq 77 ]
done
