# SPDX-License-Identifier: Apache-2.0
rkt_test(unit_status SOURCES test_status.c LINK rkt_common LABELS unit)
rkt_test(unit_arena SOURCES test_arena.c LINK rkt_common LABELS unit)
rkt_test(unit_strtab SOURCES test_strtab.c LINK rkt_common LABELS unit)
rkt_test(unit_units SOURCES test_units.c LINK rkt_common LABELS unit)
rkt_test(unit_options SOURCES test_options.c LINK rkt_common LABELS unit)
rkt_test(unit_event SOURCES test_event.c LINK rkt_common LABELS unit)
rkt_test(unit_log SOURCES test_log.c LINK rkt_common LABELS unit)
rkt_test(unit_clock_map SOURCES test_clock_map.c LINK rkt_common LABELS unit)
