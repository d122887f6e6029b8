#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds ranktrace and runs its tests; prints what was skipped and why.
#
#   tests/run.sh                 every preset: dev, asan-ubsan, tsan, minimal
#   tests/run.sh dev tsan        only these
#   tests/run.sh --all           also the long tests (label slow) and both compilers
#
# Exit code 0: all that ran passed; 1: a failure; 2: wrong use.
set -euo pipefail
cd "$(dirname "$0")/.."

presets=()
slow=0
for word in "$@"; do
    case "$word" in
    --all) slow=1 ;;
    -h | --help)
        sed -n '3,10s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    -*)
        echo "tests/run.sh: unknown option '$word': see tests/run.sh --help" >&2
        exit 2
        ;;
    *) presets+=("$word") ;;
    esac
done
if [ "${#presets[@]}" -eq 0 ]; then
    presets=(dev asan-ubsan tsan minimal)
    [ "$slow" -eq 0 ] || presets+=(dev-clang fuzz)
fi

for tool in cmake ctest ninja cc pkg-config python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "tests/run.sh: $tool is missing: run ./launch/install_deps.sh --tests" >&2
        exit 1
    fi
done

results=build/test-results
rm -rf "$results"
mkdir -p "$results"
ctest_args=(--no-tests=error)
[ "$slow" -eq 0 ] || ctest_args+=(-C slow)

failed=0
for preset in "${presets[@]}"; do
    echo "== $preset: build"
    cmake --preset "$preset" >"$results/$preset.configure.log" 2>&1 || {
        cat "$results/$preset.configure.log"
        exit 1
    }
    sed -n '/^-- ranktrace /,$p' "$results/$preset.configure.log"
    cmake --build --preset "$preset" >"$results/$preset.build.log" 2>&1 || {
        tail -n 60 "$results/$preset.build.log"
        exit 1
    }
    echo "== $preset: test"
    ctest --preset "$preset" "${ctest_args[@]}" --parallel 2 \
        --output-junit "$PWD/$results/$preset.xml" || failed=1
done

python3 tests/summary.py "$results"/*.xml
exit "$failed"
