#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A training script that ends right after its last backward ends well under the torch hook. What
# this holds is a race: with callbacks on gloo's threads the script aborted in most runs.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
need_torch
need_no_sanitizer

for _ in 1 2 3; do
    mpi 2 "$ranktrace" run --no-report -o "$work/out" -- "$python" "$here/torch_exit.py" 2>"$work/err" || {
        cat "$work/err"
        fail "the script died at its end"
    }
done
