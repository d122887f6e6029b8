# SPDX-License-Identifier: Apache-2.0
# Finds what the project builds on. A feature whose library is missing is off and says so in the
# summary; RKT_WITH_<feature>=ON turns that into an error.

set(RKT_SUMMARY "")

# rkt_note(<what> <state> <why>) - one line of the summary
function(rkt_note what state why)
  string(REPLACE ";" "," why "${why}") # it would end the element of the list of lines
  set_property(GLOBAL APPEND PROPERTY RKT_SUMMARY_LINES "${what}|${state}|${why}")
endfunction()

# rkt_feature(<name> <found> <what it gives> <what to do>) - sets RKT_HAVE_<name>
function(rkt_feature name found gives remedy)
  if(RKT_WITH_${name} STREQUAL "OFF")
    set(have OFF)
    rkt_note(${name} off "switched off by RKT_WITH_${name}=OFF")
  elseif(found)
    set(have ON)
    rkt_note(${name} on "${gives}")
  elseif(RKT_WITH_${name} STREQUAL "ON")
    message(FATAL_ERROR "RKT_WITH_${name}=ON, but it was not found: ${remedy}")
  else()
    set(have OFF)
    rkt_note(${name} off "not found: ${remedy}")
  endif()
  set(RKT_HAVE_${name} ${have} PARENT_SCOPE)
endfunction()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.4)
# The pkg-config name of msgpack-c differs between distributions.
pkg_search_module(MSGPACK REQUIRED IMPORTED_TARGET msgpack-c>=3 msgpack>=3)
rkt_note(zstd on "${ZSTD_VERSION}")
rkt_note(msgpack on "${MSGPACK_VERSION}")

if(NOT RKT_WITH_MPI STREQUAL "OFF")
  find_package(MPI COMPONENTS C QUIET)
endif()
rkt_feature(MPI "${MPI_C_FOUND}" "MPI ${MPI_C_VERSION}: runs of many ranks"
            "install libopenmpi-dev openmpi-bin; without it 'run' works on one node only")

if(RKT_HAVE_MPI AND NOT RKT_WITH_PMIX STREQUAL "OFF")
  pkg_check_modules(PMIX QUIET IMPORTED_TARGET pmix>=2)
endif()
rkt_feature(PMIX "${PMIX_FOUND}" "PMIx ${PMIX_VERSION}: a sidecar's death ends no other rank"
            "install libpmix-dev; without it mpirun ends all ranks when a job of a dead sidecar ends")

if(NOT RKT_WITH_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  find_path(RKT_CUPTI_INCLUDE cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
            PATH_SUFFIXES extras/CUPTI/include)
  if(CUDAToolkit_FOUND AND RKT_CUPTI_INCLUDE)
    set(cuda_found TRUE)
    set(cuda_includes ${CUDAToolkit_INCLUDE_DIRS} ${RKT_CUPTI_INCLUDE})
    list(REMOVE_DUPLICATES cuda_includes)
    add_library(rkt_cuda_headers INTERFACE)
    target_include_directories(rkt_cuda_headers SYSTEM INTERFACE ${cuda_includes})
  endif()
endif()
rkt_feature(CUDA "${cuda_found}" "headers of CUDA ${CUDAToolkit_VERSION} with CUPTI"
            "no toolkit headers; the project's own declarations of CUDA and CUPTI are used")

if(NOT RKT_WITH_NCCL STREQUAL "OFF")
  find_path(RKT_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
endif()
if(RKT_NCCL_INCLUDE AND NOT RKT_HAVE_CUDA)
  set(RKT_NCCL_INCLUDE "") # nccl.h needs cuda_runtime.h
endif()
rkt_feature(NCCL "${RKT_NCCL_INCLUDE}" "header nccl.h in ${RKT_NCCL_INCLUDE}"
            "no nccl.h; the project's own declarations of NCCL are used")

if(NOT RKT_WITH_SIMDJSON STREQUAL "OFF")
  find_package(simdjson QUIET)
endif()
rkt_feature(SIMDJSON "${simdjson_FOUND}" "simdjson ${simdjson_VERSION}: import of PyTorch traces"
            "install libsimdjson-dev; without it 'merge' cannot read JSON")
if(RKT_HAVE_SIMDJSON)
  enable_language(CXX)
endif()

if(NOT RKT_WITH_SQLITE STREQUAL "OFF")
  find_package(SQLite3 3.7 QUIET)
endif()
rkt_feature(SQLITE "${SQLite3_FOUND}" "SQLite ${SQLite3_VERSION}: import of Nsight Systems' exports"
            "install libsqlite3-dev; without it 'merge' cannot read exports of Nsight Systems")

function(rkt_print_summary)
  get_property(lines GLOBAL PROPERTY RKT_SUMMARY_LINES)
  message(STATUS "")
  message(STATUS "ranktrace ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE} with ${CMAKE_C_COMPILER_ID} "
                 "${CMAKE_C_COMPILER_VERSION}, sanitizers: ${RKT_SANITIZE}")
  foreach(line IN LISTS lines)
    string(REPLACE "|" ";" part "${line}")
    list(GET part 0 what)
    list(GET part 1 state)
    list(GET part 2 why)
    string(SUBSTRING "${what}                  " 0 16 what)
    string(SUBSTRING "${state}    " 0 5 state)
    message(STATUS "  ${what} ${state} ${why}")
  endforeach()
  message(STATUS "")
endfunction()
