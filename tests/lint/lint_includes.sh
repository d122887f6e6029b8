#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The include directions hold, and the check itself finds a breach when there is one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

python3 "$here/check_includes.py" "$root"

bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/common" "$bad/agent/capture" "$bad/analysis"
echo '#include "agent/ring.h"' >"$bad/common/a.c"
echo '#include <mpi.h>' >"$bad/analysis/b.c"
echo '#include "agent/sidecar/drain.h"' >"$bad/agent/capture/c.c"
found=$(python3 "$here/check_includes.py" "$bad" || true)
[ "$(wc -l <<<"$found")" -eq 3 ] || {
    printf 'the check should find three breaches:\n%s\n' "$found"
    exit 1
}
