#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec "$(dirname "$0")/kill_runs.py" "$1" 50
