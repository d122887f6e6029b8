#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites tests/data/report from what the reports are now; look at the difference before you
# commit it. Give the build folder, or build/dev is taken.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build/dev}
RKT_UPDATE_GOLDEN=1 "$build/tests/unit_report"
git -C "$root" --no-pager diff --stat -- tests/data/report
