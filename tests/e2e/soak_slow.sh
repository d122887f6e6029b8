#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec "$(dirname "$0")/soak.py" "$1" --minutes 30
