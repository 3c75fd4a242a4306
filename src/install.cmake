# `cmake --install`: the program (component program), and the libraries with their headers and
# find_package(rewise) (component development).
include(CMakePackageConfigHelpers)

set(libraries rules h5 distributed cuda graphs engine label multispin bytespin bitlattice store
    analysis)
foreach(library IN LISTS libraries)
  set_target_properties(rewise_${library} PROPERTIES EXPORT_NAME ${library})
  list(APPEND installed rewise_${library})
endforeach()
install(TARGETS rewise_options ${installed} EXPORT rewise
        ARCHIVE DESTINATION lib COMPONENT development)

set(place lib/cmake/rewise)
install(EXPORT rewise NAMESPACE rewise:: DESTINATION ${place} COMPONENT development)
# Paths of headers are those of the source tree: "src/engine/engine.hpp".
foreach(folder graphs analysis src/base src/multispin src/engine src/label src/model src/bitlattice
        src/random src/distributed src/bytespin src/store src/cuda)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION include/rewise/${parent} COMPONENT development
          FILES_MATCHING PATTERN "*.hpp")
endforeach()

configure_package_config_file(src/rewise-config.cmake.in
                              ${PROJECT_BINARY_DIR}/rewise-config.cmake
                              INSTALL_DESTINATION ${place})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rewise-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rewise-config.cmake
              ${PROJECT_BINARY_DIR}/rewise-config-version.cmake
        DESTINATION ${place} COMPONENT development)
