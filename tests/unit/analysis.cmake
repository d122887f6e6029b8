# SPDX-License-Identifier: Apache-2.0
rkt_test(unit_json_writer SOURCES test_json_writer.c LINK rkt_common LABELS unit)
