#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sources stop at 600 lines and headers at 200; each begins with the licence line.
set -euo pipefail
cd "$(dirname "$0")/../.."

bad=0
while IFS= read -r file; do
    limit=600
    case "$file" in
    */cuda_api/* | */nccl_api/* | */nvtx_api/*) limit=600 ;; # lists of declarations
    common/event*.h | analysis/result.h) limit=450 ;; # plain data, one list each
    *.h) limit=200 ;;
    esac
    mapfile -t lines <"$file"
    if [ "${#lines[@]}" -gt "$limit" ]; then
        echo "$file: ${#lines[@]} lines; the limit is $limit: split it by what it knows"
        bad=1
    fi
    if [[ "${lines[*]:0:2}" != *'SPDX-License-Identifier: Apache-2.0'* ]]; then
        echo "$file: the licence line is missing"
        bad=1
    fi
done < <(find common agent aggregator analysis launch tests \
    -name '*.[ch]' -o -name '*.cc' -o -name '*.py' -o -name '*.sh' -o -name CMakeLists.txt)
exit "$bad"
