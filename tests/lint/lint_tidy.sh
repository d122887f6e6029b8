#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the product's sources in the compile database, or over those that match $2; a
# result is kept until its source, a header or a setting changes, so that a second run is quick.
set -euo pipefail
build=$1
which=${2:-^(common|agent|aggregator|analysis|launch)/}
cd "$(dirname "$0")/../.."

for tool in clang-tidy python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is not installed"
        exit 77
    fi
done
cache=$build/tidy-cache
mkdir -p "$cache"
settings=$({
    cat .clang-tidy tests/.clang-tidy
    find common agent aggregator analysis launch tests -name '*.h' | sort | xargs cat
} | sha256sum | cut -c1-16)

check_one() {
    local file=$1 stamp
    stamp=$cache/$(echo "$3 $file" | sha256sum | cut -c1-16)-$(sha256sum "$file" | cut -c1-16)
    [ -e "$stamp" ] && return 0
    clang-tidy -p "$2" --quiet "$file" 2>/dev/null && touch "$stamp"
}
export -f check_one
export cache

python3 - "$build/compile_commands.json" <<'PY' | sort -u |
import json, os, sys
for entry in json.load(open(sys.argv[1])):
    print(os.path.relpath(entry["file"]))
PY
    grep '\.c$' | grep -E "$which" | xargs -P 2 -I{} bash -c "check_one {} '$build' '$settings'"
