# The target samegrad::ddp, and what `cmake --install` puts where: the library as the package samegrad (component
# "library"), the two programs (component "programs").

# samegrad::ddp is all of the library: what a program includes from samegrad_public_headers, and what that needs.
add_library(samegrad_library INTERFACE)
add_library(samegrad::ddp ALIAS samegrad_library)
set_target_properties(samegrad_library PROPERTIES EXPORT_NAME ddp)
target_link_libraries(samegrad_library INTERFACE samegrad_ddp samegrad_join samegrad_module_checkpoint)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()  # what another project installs is its own choice
endif()
include(CMakePackageConfigHelpers)

set(samegrad_public_headers
    samegrad/base/error.h
    samegrad/base/log.h
    samegrad/checkpoint/module_checkpoint.h
    samegrad/comm/init.h
    samegrad/comm/world.h
    samegrad/ddp/distributed_data_parallel.h
    samegrad/ddp/model_hash.h
    samegrad/ddp/recompute.h
    samegrad/ddp/window.h
    samegrad/objective/window_units.h)

# Every header that a public one includes, and nothing else.
set(_queue ${samegrad_public_headers})
set(_headers "")
while(_queue)
  list(POP_FRONT _queue _header)
  if(NOT _header IN_LIST _headers)
    list(APPEND _headers ${_header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${_header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${_header} _includes REGEX "^#include \"samegrad/")
    foreach(_include ${_includes})
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" _include "${_include}")
      list(APPEND _queue ${_include})
    endforeach()
  endif()
endwhile()
foreach(_header ${_headers})
  cmake_path(GET _header PARENT_PATH _folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${_folder} COMPONENT library)
endforeach()

install(TARGETS samegrad_library samegrad_base samegrad_kernels samegrad_no_faults samegrad_objective samegrad_plan samegrad_comm samegrad_join
                samegrad_ddp samegrad_checkpoint samegrad_module_checkpoint
        EXPORT samegrad ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/samegrad)
install(EXPORT samegrad NAMESPACE samegrad:: FILE samegradTargets.cmake DESTINATION ${_package} COMPONENT library)
set(SAMEGRAD_PACKAGE_CUDA OFF)
if(SAMEGRAD_CUDA)
  set(SAMEGRAD_PACKAGE_CUDA ON)
endif()
configure_package_config_file(cmake/samegradConfig.cmake.in ${PROJECT_BINARY_DIR}/samegradConfig.cmake
                              INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/samegradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/samegradConfig.cmake ${PROJECT_BINARY_DIR}/samegradConfigVersion.cmake
              cmake/FindLibtorch.cmake DESTINATION ${_package} COMPONENT library)

if(SAMEGRAD_APPS)
  install(TARGETS samegrad samegrad-worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endif()
