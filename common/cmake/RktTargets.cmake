# SPDX-License-Identifier: Apache-2.0
# All compiler flags of the project, in one function: no folder has its own.

function(rkt_target_defaults target)
  target_compile_features(${target} PUBLIC c_std_11)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF CXX_STANDARD 17 CXX_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE RKT_VERSION="${PROJECT_VERSION}")
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wconversion -Wpointer-arith -Wwrite-strings -Wundef -Wvla
    -Wimplicit-fallthrough
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${RKT_WERROR}>:-Werror>)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  if(RKT_FUZZ) # so that libFuzzer sees which lines of the libraries an input reaches
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(RKT_LTO) # GCC links objects of both forms as a whole unless it is told not to
    target_compile_options(${target} PRIVATE -flto=auto -ffat-lto-objects)
    target_link_options(${target} PRIVATE
      $<IF:$<BOOL:$<TARGET_PROPERTY:RKT_AS_A_WHOLE>>,-flto=auto,-fno-lto>)
  endif()
  if(RKT_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${RKT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${RKT_SANITIZE})
  endif()
endfunction()

# rkt_library(<name> SOURCES ... LINK ...) - a static library with the project's flags
function(rkt_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  rkt_target_defaults(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# rkt_program(<name> SOURCES ... LINK ... [NO_INSTALL]) - installed in libexec, the front end in bin;
# a program of the tests is not installed
function(rkt_program name)
  cmake_parse_arguments(arg "NO_INSTALL" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  rkt_target_defaults(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  if(arg_NO_INSTALL)
    return()
  endif()
  set_target_properties(${name} PROPERTIES RKT_AS_A_WHOLE ON)
  if(name STREQUAL "ranktrace")
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  else()
    install(TARGETS ${name} RUNTIME DESTINATION ${RKT_LIBEXEC_DIR})
  endif()
endfunction()
