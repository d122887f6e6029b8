#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what ranktrace needs on Debian 12 and is missing; calls apt only when something is.
#
#   launch/install_deps.sh            what the build and the demo need
#   launch/install_deps.sh --tests    also what the tests and the lint need
set -euo pipefail

build=(cmake ninja-build gcc g++ pkg-config libc6-dev libzstd-dev libmsgpack-dev zlib1g-dev
       libopenmpi-dev openmpi-bin libpmix-dev libsimdjson-dev libsqlite3-dev python3)
tests=(libcmocka-dev clang clang-format clang-tidy libclang-rt-14-dev python3-msgpack
       python3-zstandard python3-torch python3-numpy procps iproute2)

wanted=("${build[@]}")
case "${1:-}" in
"") ;;
--tests) wanted+=("${tests[@]}") ;;
-h | --help)
    sed -n '3,6s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
*)
    echo "install_deps.sh: unknown argument '$1': it takes --tests or nothing" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "install_deps.sh: not a Debian system; please install the like of: ${wanted[*]}" >&2
    exit 1
fi

missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || missing+=("$package")
done
if [ "${#missing[@]}" -eq 0 ]; then
    echo "install_deps.sh: everything is installed"
    exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install_deps.sh: please install as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    sudo=(sudo)
fi
echo "install_deps.sh: installing ${missing[*]}"
"${sudo[@]}" apt-get update -q
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
