# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)

# Declares library `target`, known to consumers as rekindle::<EXPORT_NAME>.
# Its files come from rekindle_sources().
function(rekindle_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORT_NAME" "")
  add_library(${target})
  add_library(rekindle::${arg_EXPORT_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${arg_EXPORT_NAME}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Call sites in the library name files as they are named in this tree.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>")
  target_sources(${target} PUBLIC FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}")
endfunction()

# rekindle_sources([TARGET rekindle] HEADERS a.h ... SOURCES a.cc ...)
# Adds files of the calling folder; headers are installed under the path they
# have in this tree.
function(rekindle_sources)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET" "HEADERS;SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rekindle_sources: unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TARGET)
    set(arg_TARGET rekindle)
  endif()
  list(TRANSFORM arg_HEADERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  target_sources(${arg_TARGET}
    PRIVATE ${arg_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}"
      FILES ${arg_HEADERS})
endfunction()

# rekindle_test(name SOURCES a_test.cc ... [LIBRARIES ...] [LABELS ...])
# One GoogleTest program; every TEST in it is a test of ctest.
function(rekindle_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rekindle_test: unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} rekindle::rekindle
    GTest::gmock_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  if(REKINDLE_PCH)
    target_precompile_headers(${name} REUSE_FROM rekindle_test_headers)
  endif()
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 600 LABELS ${name})
  if(arg_LABELS)  # gtest_discover_tests() takes properties of one value only
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
    file(WRITE "${file}" "set_tests_properties(\${${name}_TESTS}
      PROPERTIES LABELS \"${name};${arg_LABELS}\")\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
  endif()
endfunction()

# Adds each of the folders (relative to the root) that has a CMakeLists.txt.
function(rekindle_subdirectories)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}"
        "${PROJECT_BINARY_DIR}/${folder}")
    endif()
  endforeach()
endfunction()
