#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec "$(dirname "$0")/simulate_truth.py" "$1" --large
