# SPDX-License-Identifier: Apache-2.0
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
if(CMOCKA_FOUND)
  rkt_note(cmocka on "${CMOCKA_VERSION}: unit tests")
else()
  rkt_note(cmocka off "not found: install libcmocka-dev; no unit test is built")
endif()

# What mpiexec needs to start as root, and past the number of cores. MPICH knows neither.
set(RKT_MPIEXEC_ARGS ${RKT_MPIEXEC_FLAGS})
execute_process(COMMAND id -u OUTPUT_VARIABLE RKT_USER_ID OUTPUT_STRIP_TRAILING_WHITESPACE)
if(RKT_HAVE_MPI AND RKT_USER_ID STREQUAL "0")
  list(APPEND RKT_MPIEXEC_ARGS --allow-run-as-root)
endif()

# rkt_test(<name> SOURCES ... LINK ... LABELS ... [RANKS n]) - one cmocka program, one test
function(rkt_test name)
  cmake_parse_arguments(arg "" "RANKS" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT CMOCKA_FOUND OR (arg_RANKS AND NOT RKT_HAVE_MPI))
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  rkt_target_defaults(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LINK} PkgConfig::CMOCKA)
  if(arg_RANKS)
    add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${arg_RANKS}
             ${RKT_MPIEXEC_ARGS} $<TARGET_FILE:${name}>)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${arg_RANKS})
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()

# rkt_script_test(<name> <script> LABELS ... [ARGS ...] [TIMEOUT s] [PROCESSORS n]) - a script that
# gets the build folder as its first argument; exit code 77 is a skip, whose reason it prints
function(rkt_script_test name script)
  cmake_parse_arguments(arg "" "TIMEOUT;PROCESSORS" "LABELS;ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(when)
  if(slow IN_LIST arg_LABELS) # runs under 'ctest -C slow' only
    set(when CONFIGURATIONS slow)
  endif()
  add_test(NAME ${name} ${when}
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${PROJECT_BINARY_DIR} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                       SKIP_RETURN_CODE 77)
  if(arg_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${arg_PROCESSORS})
  endif()
endfunction()

# rkt_fuzz(<name> <source> <corpus folder> <libraries>...) - with RKT_FUZZ a libFuzzer program,
# else the replay driver, which runs every file of the corpus and fails on an empty one
function(rkt_fuzz name source corpus)
  if(RKT_FUZZ)
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    # what it finds goes into the build folder, not into the corpus
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}-found)
    add_test(NAME ${name} COMMAND ${name} -runs=20000 -seed=1 -max_len=65536
             ${CMAKE_CURRENT_BINARY_DIR}/${name}-found ${corpus})
  else()
    add_executable(${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
    add_test(NAME ${name} COMMAND ${name} ${corpus})
  endif()
  rkt_target_defaults(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()
