# `cmake --install`: the program (component program), and the libraries with their headers, for
# find_package(rewise) and pkg-config (component development). `cpack`: packages of the program.
include(CMakePackageConfigHelpers)

set(libraries rules h5 distributed cuda graphs engine label multispin bytespin bitlattice store
    analysis)
foreach(library IN LISTS libraries)
  set_target_properties(rewise_${library} PROPERTIES EXPORT_NAME ${library})
  list(APPEND installed rewise_${library})
  list(APPEND REWISE_LIBRARIES -lrewise_${library})
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

# pkg-config has no modules for these.
set(REWISE_NEEDS ${HDF5_C_LIBRARIES} $<TARGET_LINKER_FILE:Boost::graph> -ldl)
if(LIBDEFLATE_INCLUDE_DIR AND LIBDEFLATE_LIBRARY)
  list(APPEND REWISE_NEEDS ${LIBDEFLATE_LIBRARY})
else()
  list(APPEND REWISE_NEEDS ${ZLIB_LIBRARIES})
endif()
if(REWISE_HAVE_CUDA)
  set(REWISE_DEFINITIONS -DREWISE_HAVE_CUDA=1)
  list(APPEND REWISE_NEEDS $<TARGET_LINKER_FILE:CUDA::cudart_static> -lrt)
endif()
list(JOIN REWISE_NEEDS " " REWISE_NEEDS)
list(JOIN REWISE_LIBRARIES " " REWISE_LIBRARIES)
configure_file(src/rewise.pc.in ${PROJECT_BINARY_DIR}/rewise.pc.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/rewise.pc INPUT ${PROJECT_BINARY_DIR}/rewise.pc.in)
install(FILES ${PROJECT_BINARY_DIR}/rewise.pc DESTINATION lib/pkgconfig COMPONENT development)

# A Debian package, for the release of Debian or Ubuntu that it is made on, and a tarball. The
# libraries that it needs are found by dpkg-shlibdeps, what plots need stands in experiments/setup.
file(STRINGS experiments/setup plots REGEX "^  python3 ")
string(STRIP "${plots}" plots)
string(REPLACE " " ", " CPACK_DEBIAN_PACKAGE_DEPENDS "${plots}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_CONTACT "The rewise authors")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};rewise;program;/")
include(CPack)
