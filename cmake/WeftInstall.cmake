# WeftInstall: headers, archive, find_package(weft) and pkg-config.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

set_target_properties(weft_charge_new PROPERTIES EXPORT_NAME charge_new)
install(TARGETS weft weft_yield_checks weft_charge_new EXPORT weftTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${package_dir})

configure_package_config_file(cmake/weftConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/weftConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 every minor version may break clients.
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/weftConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/weftConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/weftConfigVersion.cmake
  ${CMAKE_CURRENT_SOURCE_DIR}/cmake/WeftYieldChecks.cmake
  DESTINATION ${package_dir})

# The prefix is found from the file's own place: the tree may be moved.
file(RELATIVE_PATH WEFT_PC_TO_PREFIX
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/weft.pc.in ${CMAKE_CURRENT_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
