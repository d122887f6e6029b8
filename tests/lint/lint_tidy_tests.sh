#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the tests and the stand-ins.
set -euo pipefail
exec "$(dirname "$0")/lint_tidy.sh" "$1" '^tests/'
