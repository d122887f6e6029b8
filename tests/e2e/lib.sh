# SPDX-License-Identifier: Apache-2.0
# Helpers of the end-to-end scripts; each sources this with the build folder as $1.
#
#   skip REASON     ends the script as skipped
#   fail REASON     ends it as failed
#   need_mpi        skips where the build has no MPI or mpirun is absent
#   mpi N COMMAND   mpirun with N ranks on this machine
#   $work           a folder that is removed at the end

build=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
ranktrace=$build/bin/ranktrace
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "$*"
    exit 77
}

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

need_mpi() {
    [ -x "$build/bin/ranktrace-sidecar-mpi" ] || skip "this build has no MPI"
    command -v mpirun >/dev/null || skip "mpirun is not installed"
}

# A library with a sanitizer in it cannot be loaded into a program that has none.
has_sanitizer() { [ -n "$(sed -n 's/^RKT_SANITIZE:STRING=//p' "$build/CMakeCache.txt")" ]; }
need_no_sanitizer() {
    ! has_sanitizer ||
        skip "${1:-a library with a sanitizer cannot be loaded into a program that has none}"
}

# Tests of the source tree, not of a build: once, with preset dev, is enough.
only_in_dev() {
    [ "$(basename "$build")" = dev ] || skip "it does not depend on the preset; dev runs it"
}

# A python that has torch: Debian's, whatever comes first on PATH.
need_torch() {
    python=
    for candidate in /usr/bin/python3 python3; do
        if "$candidate" -c 'import torch.distributed as d; assert d.is_available()' 2>/dev/null; then
            python=$candidate
            return
        fi
    done
    skip "no python3 with torch: install python3-torch"
}

mpi() {
    local ranks=$1
    local args=(-np "$ranks" --oversubscribe)
    shift
    [ "$(id -u)" -ne 0 ] || args+=(--allow-run-as-root)
    mpirun "${args[@]}" "$@"
}
