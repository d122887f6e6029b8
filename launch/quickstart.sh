#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a report: installs what is missing, builds, runs a training job of four
# ranks on simulated GPUs with one slow rank, prints the report and writes a timeline.
#
#   launch/quickstart.sh [OUTPUT_FOLDER]      default: quickstart-out
set -euo pipefail
cd "$(dirname "$0")/.."

ranks=4
slow_rank=2
out=${1:-quickstart-out}
build=build/release
case "$out" in
-h | --help)
    sed -n '3,6s/^# \{0,1\}//p' launch/quickstart.sh
    exit 0
    ;;
-*)
    echo "quickstart.sh: unknown option '$out': see launch/quickstart.sh --help" >&2
    exit 2
    ;;
esac

say() {
    printf '\n== %s\n' "$*"
}

say "1/4 packages"
./launch/install_deps.sh

say "2/4 build"
cmake --preset release >/dev/null
cmake --build --preset release

say "3/4 run: $ranks ranks on simulated GPUs, rank $slow_rank computes more slowly"
mpirun_args=(-np "$ranks" --oversubscribe)
[ "$(id -u)" -ne 0 ] || mpirun_args+=(--allow-run-as-root)
rm -f "$out/timeline.rkt" "$out/trace.json"
# Each rank of the program prints a line of what was injected, for tests: not for people.
LD_LIBRARY_PATH="$PWD/$build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    mpirun "${mpirun_args[@]}" "$build/bin/ranktrace" run --output "$out" -- \
    "$build/simgpu/simgpu_train" --scenario slow-compute --slow-rank "$slow_rank" |
    sed '/^{"rank":/d'

say "4/4 export"
"$build/bin/ranktrace" export --format chrome --output "$out/trace.json" "$out/timeline.rkt"

cat <<TEXT

Timeline:      $out/timeline.rkt
Chrome trace:  $out/trace.json   open it at https://ui.perfetto.dev or chrome://tracing
Report again:  $build/bin/ranktrace report $out
As JSON:       $build/bin/ranktrace report --format json $out
Your own job:  mpirun -np N $build/bin/ranktrace run -- python train.py
Your traces:   $build/bin/ranktrace merge -o merged.rkt TRACE_FOLDER && $build/bin/ranktrace report merged.rkt
TEXT
