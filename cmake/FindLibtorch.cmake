# Finds libtorch without its own TorchConfig.cmake, which wants a CUDA toolkit even for a CPU build. Part of samegrad's
# own build and of its installed package.
#
# Input:   targets torch or torch_cpu   a project that has called find_package(Torch) already: its libtorch is taken.
#          SAMEGRAD_LIBTORCH  else the folder that holds include/ and lib/ (a wheel's torch/ or an unpacked libtorch).
#                             Default in samegrad's own tree: the wheel in .venv.
#          SAMEGRAD_CUDA      also link the CUDA half.
# Output:  Libtorch::cpu, Libtorch_VERSION. Versions outside 2.11.x are refused by name.

set(_libtorch_target "")
set(_libtorch_places ${SAMEGRAD_LIBTORCH})
foreach(_candidate torch torch_cpu)
  if(TARGET ${_candidate} AND NOT _libtorch_target)
    set(_libtorch_target ${_candidate})
    get_target_property(_libtorch_includes ${_candidate} INTERFACE_INCLUDE_DIRECTORIES)
    set(_libtorch_places ${_libtorch_includes} ${TORCH_INSTALL_PREFIX})
  endif()
endforeach()
if(NOT _libtorch_places)
  file(GLOB _libtorch_places ${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/torch)
  list(SUBLIST _libtorch_places 0 1 _libtorch_places)
  set(SAMEGRAD_LIBTORCH "${_libtorch_places}" CACHE PATH "Folder with libtorch's include/ and lib/" FORCE)
endif()

set(_version_lines "")
foreach(_place ${_libtorch_places})
  foreach(_header torch/headeronly/version.h torch/version.h torch/csrc/api/include/torch/version.h)
    foreach(_file ${_place}/${_header} ${_place}/include/${_header})
      if(NOT _version_lines AND EXISTS "${_file}")
        file(STRINGS "${_file}" _version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
      endif()
    endforeach()
  endforeach()
endforeach()
if(NOT _version_lines)
  message(FATAL_ERROR "[configure] libtorch: none in '${_libtorch_places}'; give -DSAMEGRAD_LIBTORCH=DIR with DIR/include "
                      "and DIR/lib (in samegrad's own tree, `sh scripts/setup.sh` installs one)")
endif()
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" Libtorch_VERSION "${_version_lines}")
if(NOT Libtorch_VERSION MATCHES "^2\\.11\\.")
  message(FATAL_ERROR "[configure] libtorch version: ${Libtorch_VERSION} in '${_libtorch_places}'; supported is 2.11.x: "
                      "give -DSAMEGRAD_LIBTORCH=DIR of one, or take the release of samegrad for this one")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS _libtorch_places VERSION_VAR Libtorch_VERSION NAME_MISMATCHED)

if(NOT TARGET Libtorch::cpu)
  add_library(Libtorch::cpu INTERFACE IMPORTED)
  if(_libtorch_target)
    target_link_libraries(Libtorch::cpu INTERFACE ${_libtorch_target} ${TORCH_LIBRARIES})
  else()
    target_include_directories(Libtorch::cpu SYSTEM INTERFACE ${SAMEGRAD_LIBTORCH}/include
                               ${SAMEGRAD_LIBTORCH}/include/torch/csrc/api/include)
    # The wheel's libtorch_cpu.so needs libcudart and libcupti of sibling packages, found through its own rpath.
    target_link_libraries(Libtorch::cpu INTERFACE ${SAMEGRAD_LIBTORCH}/lib/libtorch_cpu.so ${SAMEGRAD_LIBTORCH}/lib/libc10.so)
    target_link_options(Libtorch::cpu INTERFACE -Wl,-rpath,${SAMEGRAD_LIBTORCH}/lib -Wl,--unresolved-symbols=ignore-in-shared-libs)
    if(SAMEGRAD_CUDA)
      target_link_libraries(Libtorch::cpu INTERFACE -Wl,--no-as-needed ${SAMEGRAD_LIBTORCH}/lib/libtorch_cuda.so
                            ${SAMEGRAD_LIBTORCH}/lib/libc10_cuda.so ${SAMEGRAD_LIBTORCH}/lib/libtorch.so -Wl,--as-needed)
    endif()
  endif()
endif()
