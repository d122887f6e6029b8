#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Answers, on a machine with a GPU, what no stand-in can: agent/doc/gpu-results.md lists the questions.
#
#   tests/gpu/run.sh [--build DIR] [--quick] [--output FILE]
#
# Builds what it needs (preset release, unless --build names a build), needs no network, and writes a
# table with versions and numbers to FILE (build/gpu-results.md). --quick: small counts, a few minutes.
# What cannot be asked here (no torch, no NCCL) is in the table as "not run", with the reason.
# Exit code: 0 all that could be run was; 1 a step failed; 2 wrong use; 77 there is no GPU.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
build=
output=$root/build/gpu-results.md
options=()
usage() { sed -n '3,13s/^# \{0,1\}//p' "$0"; }
wrong_use() {
    echo "$1" >&2
    usage >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --build | --output) [ $# -gt 1 ] || wrong_use "$1 needs a value" ;;&
    --build)
        [ -d "$2" ] || wrong_use "--build: there is no folder '$2'"
        build=$(cd "$2" && pwd)
        shift
        ;;
    --output) output=$(realpath -m "$2") && shift ;;
    --quick) options+=(--quick) ;;
    -h | --help) usage && exit 0 ;;
    *) wrong_use "unknown option '$1'" ;;
    esac
    shift
done

if [ -z "$build" ]; then
    build=$root/build/release
    cd "$root"
    cmake --preset release >/dev/null
    cmake --build --preset release >/dev/null
fi

# The first program that asks for a device says whether there is one, or a driver at all.
code=0
reason=$("$build/tests/gpu_launch" 1 2>&1 >/dev/null) || code=$?
if [ "$code" -ne 0 ]; then
    echo "not run: no GPU can be used here: $reason"
    exit 77
fi
command -v python3 >/dev/null || {
    echo "not run: python3 is not installed"
    exit 77
}
exec python3 "$root/tests/gpu/measure.py" --build "$build" --output "$output" "${options[@]}"
