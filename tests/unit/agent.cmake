# SPDX-License-Identifier: Apache-2.0
foreach(module ring region control hello)
  rkt_test(unit_${module} SOURCES test_${module}.c LINK rkt_agent Threads::Threads LABELS unit)
endforeach()

rkt_test(unit_marks SOURCES test_marks.c capture_job.c
         LINK ranktrace_capture rkt_agent Threads::Threads LABELS unit)
