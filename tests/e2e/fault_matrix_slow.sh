#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec "$(dirname "$0")/fault_matrix.py" "$1" --all
