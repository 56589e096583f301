# SPDX-License-Identifier: Apache-2.0
# Install and export: find_package(rekindle [COMPONENTS ops cuda]) gives
# rekindle::rekindle and, when built, rekindle::ops and rekindle::cuda.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rekindle")

foreach(target IN ITEMS rekindle rekindle_cuda rekindle_ops)
  if(TARGET ${target})
    install(TARGETS ${target} EXPORT ${target}
      ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
      LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
      RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
      FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(EXPORT ${target} NAMESPACE rekindle:: DESTINATION "${package_dir}"
      FILE ${target}-targets.cmake)
  endif()
endforeach()

configure_package_config_file(cmake/rekindleConfig.cmake.in
  "${PROJECT_BINARY_DIR}/rekindleConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/rekindleConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/rekindleConfig.cmake"
  "${PROJECT_BINARY_DIR}/rekindleConfigVersion.cmake"
  cmake/FindOneDNN.cmake
  DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
