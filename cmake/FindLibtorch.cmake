# Finds libtorch without its own TorchConfig.cmake, which wants a CUDA toolkit even for a CPU build.
#
# Input:   SAMEGRAD_LIBTORCH  folder that holds include/ and lib/ (a wheel's torch/ or an unpacked libtorch).
#                             Default: the wheel in ${CMAKE_SOURCE_DIR}/.venv.
#          SAMEGRAD_CUDA      also link the CUDA half.
# Output:  Libtorch::cpu, Libtorch_VERSION. Versions outside 2.11.x are refused by name.

if(NOT SAMEGRAD_LIBTORCH)
  file(GLOB _samegrad_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  if(_samegrad_wheels)
    list(GET _samegrad_wheels 0 _samegrad_wheel)
  endif()
  set(SAMEGRAD_LIBTORCH "${_samegrad_wheel}" CACHE PATH "Folder with libtorch's include/ and lib/" FORCE)
endif()
if(NOT EXISTS "${SAMEGRAD_LIBTORCH}/include/torch/version.h"
   AND NOT EXISTS "${SAMEGRAD_LIBTORCH}/include/torch/headeronly/version.h")
  message(FATAL_ERROR "[configure] libtorch: none in '${SAMEGRAD_LIBTORCH}'; run `sh scripts/setup.sh`, or give "
                      "-DSAMEGRAD_LIBTORCH=DIR with DIR/include and DIR/lib")
endif()

foreach(_header torch/headeronly/version.h torch/version.h torch/csrc/api/include/torch/version.h)
  if(EXISTS "${SAMEGRAD_LIBTORCH}/include/${_header}")
    file(STRINGS "${SAMEGRAD_LIBTORCH}/include/${_header}" _version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    if(_version_lines)
      break()
    endif()
  endif()
endforeach()
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" Libtorch_VERSION "${_version_lines}")
if(NOT Libtorch_VERSION MATCHES "^2\\.11\\.")
  message(FATAL_ERROR "[configure] libtorch version: ${Libtorch_VERSION} in '${SAMEGRAD_LIBTORCH}'; supported is 2.11.x")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS SAMEGRAD_LIBTORCH VERSION_VAR Libtorch_VERSION)

if(NOT TARGET Libtorch::cpu)
  add_library(Libtorch::cpu INTERFACE IMPORTED)
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
