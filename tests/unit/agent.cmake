# SPDX-License-Identifier: Apache-2.0
foreach(module ring region control hello)
  rkt_test(unit_${module} SOURCES test_${module}.c LINK rkt_agent Threads::Threads LABELS unit)
endforeach()

foreach(module marks marks_asleep steps)
  rkt_test(unit_${module} SOURCES test_${module}.c capture_job.c
           LINK ranktrace_capture rkt_agent Threads::Threads LABELS unit)
endforeach()
foreach(module plugin levels)
  rkt_test(unit_nccl_${module} SOURCES test_nccl_${module}.c nccl_host.c capture_job.c
           LINK rkt_agent ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
endforeach()

foreach(test nvtx nvtx_nccl)
  rkt_test(unit_${test} SOURCES test_${test}.c nvtx_host.c capture_job.c
           LINK ranktrace_capture rkt_agent ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
endforeach()

rkt_test(unit_real_nccl_nvtx SOURCES test_real_nccl_nvtx.c capture_job.c
         LINK rkt_agent ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
rkt_test(unit_real_nvtx SOURCES test_real_nvtx.c capture_job.c
         LINK rkt_agent rkt_cuda_api ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
if(RKT_HAVE_CUDA AND TARGET unit_real_nvtx)
  find_path(RKT_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(RKT_NVTX_INCLUDE)
    target_include_directories(unit_real_nvtx SYSTEM PRIVATE ${RKT_NVTX_INCLUDE})
    target_compile_definitions(unit_real_nvtx PRIVATE RKT_TEST_WITH_NVTX)
  endif()
endif()

# The inner parts are hidden in the library, so their sources are built into the tests.
set(capture ${PROJECT_SOURCE_DIR}/agent/capture)
rkt_test(unit_capture_parts SOURCES test_capture_parts.c ${capture}/intern.c ${capture}/thread.c
         LINK rkt_agent Threads::Threads LABELS unit)

rkt_test(unit_asleep SOURCES test_asleep.c ${capture}/asleep.c
         LINK rkt_agent Threads::Threads LABELS unit)

set(nccl_source stub_capture.c ${capture}/intern.c ${capture}/nccl_event.c ${capture}/nccl_slots.c
                ${capture}/nccl_source.c ${capture}/thread.c)
rkt_test(unit_nccl_source SOURCES test_nccl_source.c ${nccl_source}
         LINK rkt_agent Threads::Threads LABELS unit)

rkt_test(unit_window_rule SOURCES test_window_rule.c ${capture}/window_rule.c
         LINK rkt_agent LABELS unit)

rkt_test(unit_cupti_parts SOURCES test_cupti_parts.c ${capture}/cupti_api_names.c
                                  ${capture}/cupti_convert.c ${capture}/intern.c ${capture}/thread.c
         LINK rkt_agent rkt_cuda_api Threads::Threads LABELS unit)
rkt_test(unit_cupti_buffers SOURCES test_cupti_buffers.c ${capture}/cupti_buffers.c
         LINK rkt_agent Threads::Threads LABELS unit)
rkt_test(unit_cupti_watch SOURCES test_cupti_watch.c ${capture}/cupti_alarm.c ${capture}/cupti_watch.c
         LINK rkt_agent LABELS unit)
rkt_test(unit_cupti_reader SOURCES test_cupti_reader.c cupti_buffer.c
                                   ${PROJECT_SOURCE_DIR}/tests/simgpu/cupti/layout.c
                                   ${capture}/cupti_api_names.c ${capture}/cupti_convert.c
                                   ${capture}/cupti_reader.c ${capture}/intern.c ${capture}/thread.c
         LINK rkt_agent rkt_cuda_api Threads::Threads LABELS unit)
rkt_test(unit_cupti_round SOURCES test_cupti_round.c ${capture}/cupti_alarm.c
                                  ${capture}/cupti_api_names.c ${capture}/cupti_buffers.c
                                  ${capture}/cupti_devices.c ${capture}/cupti_library.c
                                  ${capture}/cupti_round.c ${capture}/cupti_switch.c
                                  ${capture}/cupti_watch.c ${capture}/intern.c ${capture}/thread.c
         LINK rkt_agent rkt_cuda_api ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
rkt_test(unit_cupti_switch SOURCES test_cupti_switch.c ${capture}/cupti_api_names.c
                                   ${capture}/cupti_library.c ${capture}/cupti_switch.c
                                   ${capture}/intern.c
         LINK rkt_agent rkt_cuda_api ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
rkt_test(unit_real_cupti SOURCES test_real_cupti.c capture_job.c
         LINK rkt_agent ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)
rkt_test(unit_real_nccl SOURCES test_real_nccl.c real_nccl.c capture_job.c
         LINK rkt_agent ${CMAKE_DL_LIBS} Threads::Threads LABELS unit)

# A process with the stand-ins for CUDA and CUPTI; the library finds the latter by the loader's path.
rkt_test(unit_nvtx_gpu SOURCES test_nvtx_gpu.c nvtx_host.c gpu_job.c capture_job.c
                              ${PROJECT_SOURCE_DIR}/tests/simgpu/test/gpu.c
         LINK ranktrace_capture rkt_agent rkt_cuda_api simgpu_cuda ${CMAKE_DL_LIBS} Threads::Threads
         LABELS unit)
rkt_test(unit_capture_gpu SOURCES test_capture_gpu.c gpu_job.c capture_job.c
                                  ${PROJECT_SOURCE_DIR}/tests/simgpu/test/gpu.c
         LINK ranktrace_capture rkt_agent rkt_cuda_api simgpu_cuda Threads::Threads LABELS unit)
foreach(module capture_cupti capture_cupti_off)
  rkt_test(unit_${module} SOURCES test_${module}.c gpu_job.c capture_job.c
                                  ${PROJECT_SOURCE_DIR}/tests/simgpu/test/gpu.c
           LINK ranktrace_capture rkt_agent rkt_cuda_api simgpu_cuda ${CMAKE_DL_LIBS} Threads::Threads
           LABELS unit)
endforeach()

rkt_test(unit_capture_window SOURCES test_capture_window.c capture_job.c ${PROJECT_SOURCE_DIR}/tests/simgpu/test/gpu.c
         LINK ranktrace_capture rkt_agent rkt_cuda_api simgpu_cuda ${CMAKE_DL_LIBS} LABELS unit)
rkt_test(unit_capture_nccl SOURCES test_capture_nccl.c capture_job.c
         LINK rkt_agent rkt_nccl_api simgpu_cuda simgpu_nccl Threads::Threads LABELS unit)
if(TARGET unit_capture_nccl)
  add_dependencies(unit_capture_nccl ranktrace_capture)
  target_compile_definitions(unit_capture_nccl PRIVATE
    RKT_TEST_LIBRARY="$<TARGET_FILE:ranktrace_capture>")
endif()
rkt_test(unit_capture_train SOURCES test_capture_train.c capture_job.c
         LINK rkt_agent Threads::Threads LABELS unit)

if(CMOCKA_FOUND)
  add_dependencies(unit_capture_gpu simgpu_cupti)
  add_dependencies(unit_nvtx_gpu simgpu_cupti)
  foreach(kind old hostile) # each under a name that no CUPTI of NVIDIA's has
    add_library(${kind}_cupti SHARED ${kind}_cupti.c)
    rkt_target_defaults(${kind}_cupti)
    target_link_libraries(${kind}_cupti PRIVATE rkt_cuda_api)
    set_target_properties(${kind}_cupti PROPERTIES PREFIX "" OUTPUT_NAME libcupti-${kind} SUFFIX .so.99)
    string(TOUPPER ${kind} KIND)
    target_compile_definitions(unit_capture_cupti PRIVATE
      RKT_TEST_${KIND}_CUPTI="$<TARGET_FILE:${kind}_cupti>")
    add_dependencies(unit_capture_cupti ${kind}_cupti)
  endforeach()
  add_dependencies(unit_capture_cupti simgpu_cupti)
  add_dependencies(unit_capture_cupti_off simgpu_cupti)
  add_dependencies(unit_capture_window simgpu_cupti)
  add_dependencies(unit_capture_train simgpu_cuda simgpu_cupti simgpu_nccl simgpu_train)
  target_compile_definitions(unit_capture_train PRIVATE
    RKT_TEST_TRAIN="$<TARGET_FILE:simgpu_train>")
  set_tests_properties(unit_capture_gpu unit_nvtx_gpu unit_capture_cupti
                       unit_capture_cupti_off unit_capture_train unit_capture_window PROPERTIES ENVIRONMENT
    LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/simgpu)
  foreach(test unit_nvtx_gpu unit_nccl_plugin unit_nccl_levels unit_nvtx unit_nvtx_nccl
               unit_real_nccl_nvtx unit_real_nvtx unit_real_cupti unit_real_nccl unit_capture_gpu unit_capture_cupti
               unit_capture_cupti_off
               unit_capture_train unit_capture_window)
    add_dependencies(${test} ranktrace_capture)
    target_compile_definitions(${test} PRIVATE
      RKT_TEST_LIBRARY="$<TARGET_FILE:ranktrace_capture>")
  endforeach()
  if(RKT_HAVE_CUDA)
    set_tests_properties(unit_real_cupti unit_real_nccl unit_real_nccl_nvtx PROPERTIES ENVIRONMENT
      LD_LIBRARY_PATH=${CUDAToolkit_LIBRARY_DIR})
  endif()
endif()

rkt_script_test(unit_capture_exports capture_exports.sh LABELS unit)
rkt_script_test(unit_capture_install capture_install.sh LABELS unit)
foreach(module clock_claim clock_pairs clock_state pace process_set refusals gpu_reader gpu_samples)
  rkt_test(unit_${module} SOURCES test_${module}.c LINK rkt_sidecar Threads::Threads LABELS unit)
endforeach()
if(CMOCKA_FOUND)
  target_link_options(unit_clock_state PRIVATE LINKER:--wrap=adjtimex)
  target_link_options(unit_clock_claim PRIVATE LINKER:--wrap=adjtimex)
  foreach(test unit_gpu_samples unit_process_set)
    add_dependencies(${test} simgpu_nvml_new)
    set_tests_properties(${test} PROPERTIES ENVIRONMENT
      LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/simgpu)
  endforeach()
endif()
foreach(module send spool)
  rkt_test(unit_${module} SOURCES test_${module}.c sample.c
           LINK rkt_sidecar Threads::Threads LABELS unit)
endforeach()
