#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Four ranks on simulated GPUs under mpirun: what a scenario injects is what the report names.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
export LD_LIBRARY_PATH=$build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

for scenario in clean slow-compute slow-input hidden-sync launch-gaps no-overlap; do
    mpi 4 "$ranktrace" run --no-report -o "$work/$scenario" -- "$build/simgpu/simgpu_train" \
        --scenario "$scenario" --slow-rank 2 --steps 12 >"$work/$scenario.facts"
    "$ranktrace" report --format json -o "$work/$scenario.json" "$work/$scenario"
done
python3 "$here/check_simgpu.py" "$work"
