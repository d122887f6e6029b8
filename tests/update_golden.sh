#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the wire bytes of a new format version to tests/data/wire, from a build of this tree.
#
#   tests/update_golden.sh [BUILD_FOLDER]     default: build/dev
#
# Frozen files are never changed: for a new version, add one to VERSIONS
# in tests/unit/test_golden.c, add a line to the version
# history of common/doc/wire-format.md, then run this. It refuses to write a file that exists.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/dev}

program=$build/tests/unit_golden
if [ ! -x "$program" ]; then
    echo "$program is missing: cmake --build $build --target unit_golden" >&2
    exit 1
fi
mkdir -p tests/data/wire
"$program" --write tests/data/wire
git status --short tests/data/wire
