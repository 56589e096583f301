# SPDX-License-Identifier: Apache-2.0
# How everything in this tree is compiled. All of it is directory scope, so
# that none of it reaches a program that links to an installed Rekindle.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(REKINDLE_CCACHE ccache)
  mark_as_advanced(REKINDLE_CCACHE)
  if(REKINDLE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${REKINDLE_CCACHE}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${REKINDLE_CCACHE}")
  endif()
endif()

# Applies to C++ only; nvcc hands .cu files to another front end.
function(_rekindle_cxx_options)
  foreach(flag IN LISTS ARGN)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${flag}>")
  endforeach()
endfunction()

_rekindle_cxx_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  _rekindle_cxx_options(-Wthread-safety)
endif()
if(REKINDLE_WERROR)
  _rekindle_cxx_options(-Werror)
endif()

if(REKINDLE_SANITIZE)
  add_compile_options("-fsanitize=${REKINDLE_SANITIZE}"
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${REKINDLE_SANITIZE}")
endif()
if(REKINDLE_SANITIZE MATCHES "thread")
  set(REKINDLE_OPENMP OFF)
  # g++ warns wherever a standard header has a fence.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    _rekindle_cxx_options(-Wno-tsan)
  endif()
else()
  set(REKINDLE_OPENMP ON)
endif()

if(REKINDLE_COVERAGE)
  add_compile_options(--coverage -fprofile-update=prefer-atomic)
  add_link_options(--coverage)
endif()
