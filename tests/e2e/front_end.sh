#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The front end, from the build folder, by a link, and from an installed tree that was moved.
set -euo pipefail

build=$1
work=$(mktemp -d /tmp/rkt_front.XXXXXX)
trap 'rm -rf "$work"' EXIT
failures=0

# try WANTED_CODE WANTED_TEXT ARGS...: text on stdout or stderr
try() {
    local want=$1 text=$2 code=0
    shift 2
    "$ranktrace" "$@" >"$work/out" 2>&1 || code=$?
    if [ "$code" != "$want" ] || ! grep -qF -- "$text" "$work/out"; then
        echo "FAILED: '$ranktrace $*': code $code, not $want, or no '$text':"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}

try_all() {
    ranktrace=$1
    try 2 "usage: ranktrace COMMAND"
    try 0 "run a training job" help
    try 0 "run a training job" --help
    try 0 "--drain-timeout" help run
    try 0 "--drain-timeout" run --help
    try 0 "ranktrace 0." --version
    try 0 "ranktrace 0." run --version
    try 2 "did you mean 'run'?" rum
    try 2 "unknown command 'qwertyuiop': see 'ranktrace help'" qwertyuiop
    try 2 "unknown command 'sidecar'" sidecar
    try 2 "unknown option '--frobnicate'" --frobnicate
    try 2 "no command is given" run
    try 2 "option '--steps': '5:5' holds no step" run --steps 5:5 -- true
    RANKTRACE_STEPS=5:5 try 2 "variable RANKTRACE_STEPS: '5:5' holds no step" run -- true
    try 2 "unknown command '../bin/ranktrace'" ../bin/ranktrace
}

try_all "$build/bin/ranktrace"

ln -s "$build/bin/ranktrace" "$work/linked"
try_all "$work/linked"

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
try_all "$work/moved/bin/ranktrace"
[ -e "$work/moved/share/ranktrace/torch_hook/sitecustomize.py" ] || {
    echo "FAILED: the torch hook is not installed"
    failures=$((failures + 1))
}
others=$(find "$work/moved" -type f ! -name 'ranktrace*' ! -name 'libranktrace*' \
    ! -name sitecustomize.py)
[ -z "$others" ] || {
    echo "FAILED: installed, but no part of ranktrace: $others"
    failures=$((failures + 1))
}

# Commands are those that are there.
rm "$work/moved/libexec/ranktrace/ranktrace-run"
ranktrace=$work/moved/bin/ranktrace
try 2 "command 'run' is not part of this build" run
if "$ranktrace" help | grep -q "run a training job"; then
    echo "FAILED: help lists a command that is not there"
    failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] || exit 1
echo "all passed"
