#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C and C++ file is as clang-format leaves it.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v clang-format >/dev/null; then
    echo "clang-format is not installed"
    exit 77
fi
find common agent aggregator analysis launch tests -name '*.[ch]' -o -name '*.cc' |
    xargs clang-format --dry-run -Werror
