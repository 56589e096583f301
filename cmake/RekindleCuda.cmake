# SPDX-License-Identifier: Apache-2.0
# Finds a CUDA toolkit, or settles for none. Sets REKINDLE_HAVE_CUDA.

set(REKINDLE_HAVE_CUDA OFF)

# Sets `problem` to the reason why `nvcc` cannot make a program, or to nothing.
function(_rekindle_try_nvcc nvcc problem)
  set(folder "${PROJECT_BINARY_DIR}/CMakeFiles/try_nvcc")
  file(WRITE "${folder}/try.cu"
    "__global__ void Try(float* x) { *x = 1; }\nint main() {}\n")
  execute_process(
    COMMAND "${nvcc}" -std=c++20 -arch=sm_80 -cudart static try.cu -o try
    WORKING_DIRECTORY "${folder}" RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0)
    set(${problem} "" PARENT_SCOPE)
  else()
    string(STRIP "${output}" output)
    set(${problem} "${nvcc} does not work: ${output}" PARENT_SCOPE)
  endif()
endfunction()

if(NOT REKINDLE_CUDA STREQUAL "OFF")
  find_program(REKINDLE_NVCC nvcc
    HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(REKINDLE_NVCC)
  if(REKINDLE_NVCC)
    _rekindle_try_nvcc("${REKINDLE_NVCC}" problem)
  else()
    set(problem "no nvcc found")
  endif()
  if(NOT problem)
    set(REKINDLE_HAVE_CUDA ON)
  elseif(REKINDLE_CUDA STREQUAL "AUTO")
    message(STATUS "Building without CUDA: ${problem}")
  else()
    message(FATAL_ERROR "REKINDLE_CUDA=${REKINDLE_CUDA}: ${problem}")
  endif()
endif()

if(REKINDLE_HAVE_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)  # 100 is new in CUDA 12.8
    execute_process(COMMAND "${REKINDLE_NVCC}" --list-gpu-arch
      OUTPUT_VARIABLE known)
    foreach(architecture IN ITEMS 80 90 100)
      if(known MATCHES "compute_${architecture}\n")
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture})
      endif()
    endforeach()
  endif()
  set(CMAKE_CUDA_COMPILER "${REKINDLE_NVCC}")
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  # CMake 3.25 does not know that nvcc 12 and later take C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  message(STATUS "Building CUDA files for ${CMAKE_CUDA_ARCHITECTURES}")
endif()
