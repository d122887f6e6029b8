#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A report keeps no rank's records; an export that may keep none writes the same as one that keeps all.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

simulate() { "$ranktrace" simulate -f -o "$work/run.rkt" "$@" >/dev/null; }

simulate -s ranks=8 -s nodes=2 -s clock-offset=5ms -s clock-drift-ppb=10000 \
    -s 'fault = slow-compute rank=2 amount=10ms' -s 'fault = hidden-sync rank=5 amount=3'
"$ranktrace" export "$work/run.rkt" >"$work/all"
"$ranktrace" export --memory 1B "$work/run.rkt" >"$work/one"
[ -s "$work/all" ] || fail "the export says nothing"
cmp "$work/all" "$work/one" || fail "the export differs where no record is kept"

need_no_sanitizer "memory is not measured where it is the sanitizer's own"

# Sixteen times the ranks, each as long: memory grows by the collectives and steps alone.
peak() { # KiB
    /usr/bin/env python3 - "$ranktrace" "$work/run.rkt" <<'PY'
import resource
import subprocess
import sys

subprocess.run([sys.argv[1], "report", sys.argv[2]], check=True,
               stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PY
}
size=(-s steps=40 -s forward-kernels=200 -s backward-kernels=400 -s buckets=2)
simulate -s ranks=2 "${size[@]}"
small=$(peak)
simulate -s ranks=32 "${size[@]}"
large=$(peak)
[ "$large" -lt $((small * 2)) ] || fail "2 ranks take $small KiB, 32 ranks $large KiB"
