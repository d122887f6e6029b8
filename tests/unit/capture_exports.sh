#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libranktrace.so exports what its users look up and nothing else, loads nothing but the C library,
# and cannot be unmapped.
set -euo pipefail
library=$1/lib/libranktrace.so

if ! command -v readelf >/dev/null || ! command -v nm >/dev/null; then
    echo "skipped: readelf and nm are not installed"
    exit 77
fi

expected="InitializeInjection
InitializeInjectionNvtx2
InitializeInjectionNvtxExtension
ncclProfiler_v3
ncclProfiler_v4
ncclProfiler_v5
ncclProfiler_v6
ncclProfiler_v7
$(sed -n 's/^RANKTRACE_API .*\b\(ranktrace_[a-z_]*\)(.*/\1/p' "$(dirname "$0")/../../agent/include/ranktrace.h")"
exported=$(nm -D --defined-only "$library" | awk '$3 !~ /^__odr_asan/ { print $3 }')
diff <(sort <<<"$expected") <(sort <<<"$exported") || {
    echo "the exported names are not the expected ones (< expected, > exported)"
    exit 1
}

for name in $exported; do
    grep -q "\b$name\b" "$(dirname "$0")/test_capture_errno.c" || {
        echo "$name is not in test_capture_errno.c: does it keep errno?"
        exit 1
    }
done

sanitizers='lib(a|t|ub)san'
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev "$sanitizers" || true)
if ! readelf -d "$library" | grep -Eq "NEEDED.*$sanitizers"; then
    [ "$needed" = libc.so.6 ] || {
        echo "a training process would have to load: $needed"
        exit 1
    }
fi
readelf -d "$library" | grep -q 'Flags:.*NODELETE' || {
    echo "the library is not linked with -z nodelete"
    exit 1
}
