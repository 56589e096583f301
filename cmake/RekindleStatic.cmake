# SPDX-License-Identifier: Apache-2.0
# REKINDLE_STATIC: programs that need nothing but the C library, to be carried
# to a machine where nothing is installed.

# Imported libraries of package `prefix` become their static forms, which lie
# beside the shared ones.
function(rekindle_use_static_libraries prefix)
  get_property(targets DIRECTORY "${PROJECT_SOURCE_DIR}"
    PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT target MATCHES "^${prefix}::" OR NOT type STREQUAL "SHARED_LIBRARY")
      continue()
    endif()
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      get_target_property(shared ${target} IMPORTED_LOCATION_${configuration})
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" static "${shared}")
      if(NOT EXISTS "${static}")
        message(FATAL_ERROR "REKINDLE_STATIC: ${static} is missing")
      endif()
      set_target_properties(${target} PROPERTIES
        IMPORTED_LOCATION_${configuration} "${static}"
        IMPORTED_SONAME_${configuration} "")
    endforeach()
  endforeach()
endfunction()

if(REKINDLE_STATIC)
  set(ZLIB_USE_STATIC_LIBS ON)
  set(BUILD_SHARED_LIBS OFF)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
