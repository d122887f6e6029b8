# SPDX-License-Identifier: Apache-2.0
# Every switch of the build, in one place.

option(RKT_WERROR "Warnings are errors" OFF)
option(RKT_FUZZ "Build the fuzz targets for libFuzzer (needs clang) in place of the replay driver" OFF)
set(RKT_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")
set(RKT_MPIEXEC_FLAGS "--oversubscribe" CACHE STRING
    "Extra mpiexec flags of the tests; MPICH knows no --oversubscribe")

foreach(feature MPI PMIX CUDA NCCL SIMDJSON SQLITE)
  set(RKT_WITH_${feature} AUTO CACHE STRING "AUTO, ON (absent is an error) or OFF")
  set_property(CACHE RKT_WITH_${feature} PROPERTY STRINGS AUTO ON OFF)
endforeach()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# GCC alone: its objects can hold both forms, so that tests, of which there are many, link as ever.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT RKT_SANITIZE)
  set(RKT_LTO_DEFAULT ON)
else()
  set(RKT_LTO_DEFAULT OFF)
endif()
option(RKT_LTO "Optimise installed programs as a whole when they are linked (GCC)" ${RKT_LTO_DEFAULT})

# One layout in the build tree and after install, so that programs find each other the same way.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# Where the programs behind the front end are installed; they find each other by this (install.h).
set(RKT_LIBEXEC_DIR ${CMAKE_INSTALL_LIBEXECDIR}/ranktrace)
