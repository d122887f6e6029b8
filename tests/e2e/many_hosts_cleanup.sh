#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whatever ends a script on many hosts, nothing of them is left: no process, mount, card or file.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
only_in_dev

mark=$work/process-on-a-host
cat >"$work/script" <<SH
set -euo pipefail
. "$here/lib.sh"
. "$here/many_hosts_lib.sh"
in_sandbox "\$@"
hosts_up a b
for host in a b; do on "\$host" bash -c "exec -a $mark sleep 600" & done
until [ "\$(pgrep -fc '^$mark')" = 2 ]; do sleep 0.05; done
: >"$work/is-up"
until [ -e "$work/may-end" ]; do sleep 0.05; done
exit 5
SH

state() {
    ip -o link | wc -l
    grep -c "$work" /proc/self/mounts || true
    pgrep -fc "^$mark" || true
}

start() { # until its hosts are up
    rm -f "$work/is-up" "$work/may-end"
    TMPDIR=$work/tmp bash "$work/script" "$build" >"$work/log" 2>&1 &
    pid=$!
    until [ -e "$work/is-up" ]; do
        if ! kill -0 "$pid" 2>/dev/null; then
            code=0
            wait "$pid" || code=$?
            [ "$code" -ne 77 ] || skip "$(cat "$work/log")"
            fail "no hosts came up: $(cat "$work/log")"
        fi
        sleep 0.05
    done
    [ "$(state)" != "$before" ] || fail "no process is there that could be left behind"
}

ended() { # WITH_CODE
    code=0
    wait "$pid" 2>/dev/null || code=$?
    [ "$code" = "$1" ] || fail "its exit code is $code, not $1"
    until [ "$(state)" = "$before" ]; do sleep 0.05; done
}

mkdir "$work/tmp"
before=$(state)
start
: >"$work/may-end"
ended 5
start
kill -TERM "$pid"
ended 143
[ -z "$(ls -A "$work/tmp")" ] || fail "files are left: $(find "$work/tmp")"
start
kill -KILL "$pid"
ended 137
rmdir "$work/tmp"/* # nobody could remove it, but it is empty
