# SPDX-License-Identifier: Apache-2.0
rkt_test(unit_json_writer SOURCES test_json_writer.c LINK rkt_common LABELS unit)
rkt_test(unit_interval SOURCES test_interval.c LINK rkt_analysis LABELS unit)
rkt_test(unit_class SOURCES test_class.c LINK rkt_analysis LABELS unit)
rkt_test(unit_match SOURCES test_match.c fake_run.c LINK rkt_analysis LABELS unit)
rkt_test(unit_chrome SOURCES test_chrome.c fake_run.c LINK rkt_analysis LABELS unit)
if(RKT_HAVE_SIMDJSON)
  rkt_test(unit_json_reader SOURCES test_json_reader.c LINK rkt_analysis LABELS unit)
endif()
