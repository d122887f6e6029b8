#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Samples of simulated GPUs: each rank's own GPU, a throttled one as a straggler's cause, and
# machines on which NVML is absent, old, broken or does not come back.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
train=$build/simgpu/simgpu_train
path=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH=$build/simgpu$path

# run NAME ENVIRONMENT... -- COMMAND...: its report is $work/NAME.json, what it said $work/NAME.err
run() {
    local name=$1 settings=()
    shift
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    env "${settings[@]}" "$@" >"$work/$name.out" 2>"$work/$name.err" || fail "$name: code $?"
    "$ranktrace" report --format json -o "$work/$name.json" "$work/$name"
}

# The slow rank's kernels take 1.34 times as long, as they would at three quarters of the clock.
ranks_of() {
    mpi 4 "$ranktrace" run --gpu-samples 20ms --no-report -o "$work/$1" -- "$train" --steps 150 \
        --scenario slow-compute --slow-rank 2 --slow-factor 1.34
}
export -f ranks_of mpi
export ranktrace work train

run throttled SIMGPU_NVML_THROTTLE=2:hw-thermal -- bash -c 'ranks_of throttled'
run alike SIMGPU_NVML_THROTTLE=all:power-cap -- bash -c 'ranks_of alike'
"$ranktrace" export --format chrome -o "$work/throttled.trace" "$work/throttled"

# One rank is enough for what can be wrong with the library: all at once, as they mostly sleep.
one=("$ranktrace" run --gpu-samples 20ms --no-report -o)
job=(-- "$train" --steps 240)
mkdir "$work/bare"
for library in "$build"/simgpu/lib*.so*; do
    [[ $library == *nvidia-ml* ]] || ln -s "$library" "$work/bare/"
done
pids=()
run absent LD_LIBRARY_PATH="$work/bare$path" -- "${one[@]}" "$work/absent" "${job[@]}" &
pids+=($!)
run old LD_LIBRARY_PATH="$build/simgpu/old:$LD_LIBRARY_PATH" -- "${one[@]}" "$work/old" "${job[@]}" &
pids+=($!)
run lost SIMGPU_NVML_FAIL=nvmlDeviceGetPowerUsage:4,nvmlDeviceGetClockInfo:15:2000 -- \
    "${one[@]}" "$work/lost" "${job[@]}" &
pids+=($!)
run hangs SIMGPU_NVML_HANG=nvmlDeviceGetTemperature -- "${one[@]}" "$work/hangs" "${job[@]}" &
pids+=($!)
run off -- "${one[@]}" "$work/off" --gpu-samples off "${job[@]}" &
pids+=($!)
for pid in "${pids[@]}"; do
    wait "$pid" || fail "a run with one rank"
done
python3 "$here/check_gpu_samples.py" "$work"
