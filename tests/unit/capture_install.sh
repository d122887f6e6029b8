#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is installed for programs that set marks still works after the tree was moved: pkg-config
# finds it, C and C++ compile and link with it, and without ranktrace it does nothing.
set -euo pipefail
build=$1

for tool in cmake pkg-config cc; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
if grep -q '^RKT_SANITIZE:STRING=..*' "$build/CMakeCache.txt"; then
    echo "skipped: a program without sanitizers cannot load a library that has them"
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --component capture --prefix "$work/first" >/dev/null
mv "$work/first" "$work/second"
PKG_CONFIG_PATH=$(dirname "$(find "$work/second" -name ranktrace.pc)")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs ranktrace)"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir ranktrace)
export LD_LIBRARY_PATH

cat >"$work/marks.c" <<'C'
#include <ranktrace.h>

int main(void)
{
    ranktrace_step(1);
    ranktrace_range_push("layer");
    ranktrace_range_pop();
    ranktrace_bucket_end(ranktrace_bucket_begin(0, 4, 1));
    ranktrace_step_end();
    return ranktrace_is_active();
}
C
cc -std=c99 -Wall -Wextra -pedantic -Werror "$work/marks.c" -o "$work/marks" "${flags[@]}"
env -u RANKTRACE_SOCKET "$work/marks"
if command -v c++ >/dev/null; then
    c++ -Wall -Wextra -pedantic -Werror -x c++ "$work/marks.c" -x none -o "$work/marks++" "${flags[@]}"
    env -u RANKTRACE_SOCKET "$work/marks++"
fi
