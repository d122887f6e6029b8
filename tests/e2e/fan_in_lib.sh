# SPDX-License-Identifier: Apache-2.0
# Helpers of the scripts on trees of sidecars; each sources this after lib.sh.
. "$here/mpi_cases.sh"

# What jobs recorded, as far as it does not depend on time.
records() { sed -nE 's/.*(role=rank rank=[0-9]+ kernels=[0-9]+ comms=[0-9]+ steps=[0-9]+).*(named=.* cut=[01]).*/\1 \2/p' \
    "$work/out" | sort; }
bundled() { sed -nE 's/.*msg="the file is closed".* bundled=([0-9]+) .*/\1/p' "$work/err"; }

# A job on rank 3 whose sidecar someone stops for a time longer than its group bears.
cat >"$work/stopper" <<SH
#!/bin/sh
sidecar=\$(pgrep -P \$PPID -f ranktrace-sidecar-mpi)
(sleep 1; kill -STOP \$sidecar; sleep 7; kill -CONT \$sidecar) &
exec $job events 90000 step-us 11000
SH
chmod +x "$work/stopper"
