# SPDX-License-Identifier: Apache-2.0
# The library as a guest of a process: what it takes of it, and that it leaves no trace.
set(capture ${PROJECT_SOURCE_DIR}/agent/capture)
set(test_gpu ${PROJECT_SOURCE_DIR}/tests/simgpu/test/gpu.c)
rkt_test(unit_capture_cancel SOURCES test_capture_cancel.c capture_job.c
         LINK ranktrace_capture rkt_agent Threads::Threads LABELS unit)
rkt_test(unit_capture_errno SOURCES test_capture_errno.c nvtx_host.c capture_job.c
         LINK ranktrace_capture rkt_agent ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
rkt_test(unit_capture_exit SOURCES test_capture_exit.c capture_job.c ${test_gpu}
         LINK rkt_agent rkt_cuda_api simgpu_cuda ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
rkt_test(unit_capture_memory SOURCES test_capture_memory.c capture_job.c ${test_gpu}
                                     ${capture}/intern.c
         LINK ranktrace_capture rkt_agent rkt_cuda_api simgpu_cuda Threads::Threads LABELS unit)
rkt_test(unit_capture_stuck SOURCES test_capture_stuck.c capture_job.c ${test_gpu}
         LINK ranktrace_capture rkt_agent rkt_cuda_api simgpu_cuda Threads::Threads LABELS unit)

if(CMOCKA_FOUND)
  foreach(test unit_capture_errno unit_capture_exit unit_capture_memory unit_capture_stuck)
    add_dependencies(${test} ranktrace_capture simgpu_cuda simgpu_cupti)
    target_compile_definitions(${test} PRIVATE
      RKT_TEST_LIBRARY="$<TARGET_FILE:ranktrace_capture>")
    set_tests_properties(${test} PROPERTIES ENVIRONMENT
      LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/simgpu)
  endforeach()
  if(RKT_SANITIZE)
    target_compile_definitions(unit_capture_memory PRIVATE RKT_TEST_SANITIZED)
  endif()
endif()
