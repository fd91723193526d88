# How every samegrad target is compiled, and the functions with which the folders declare theirs.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
include(GNUInstallDirs)
# g++ refuses a precompiled header that was made with another setting, so programs are compiled like the libraries.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# In another project's build these are that project's choice.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  find_program(SAMEGRAD_CCACHE ccache)
  if(SAMEGRAD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Precompiled headers are cached only with this sloppiness (ccache manual, "Precompiled headers").
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SAMEGRAD_CCACHE})
  endif()
endif()

# Contracting a*b+c into one rounding would make bits depend on the compiler's mood (docs/exactness.md).
set(SAMEGRAD_COMPILE_OPTIONS -Wall -Wextra -Wshadow -Werror -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wrestrict of g++ 12 calls `"text" + std::string` an overlapping copy (GCC bug 105651).
  list(APPEND SAMEGRAD_COMPILE_OPTIONS -fpch-preprocess -Wno-restrict)
endif()

# samegrad_layer(<folder> [TORCH] SOURCES ... [DEPENDS ...]): the static library samegrad_<folder>. With TORCH it
# compiles against libtorch through the shared precompiled header.
function(samegrad_layer name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(samegrad_${name} STATIC ${ARG_SOURCES})
  target_include_directories(samegrad_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(samegrad_${name} PUBLIC cxx_std_20)
  target_compile_options(samegrad_${name} PRIVATE ${SAMEGRAD_COMPILE_OPTIONS})
  target_link_libraries(samegrad_${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_TORCH)
    samegrad_use_torch(samegrad_${name})
  endif()
endfunction()

# One object library owns the precompiled header of ATen and autograd; the other torch targets reuse it.
function(samegrad_use_torch target)
  target_link_libraries(${target} PUBLIC Libtorch::cpu)
  target_compile_options(${target} PRIVATE -fPIC)  # programs too, or the precompiled header does not fit them
  if(NOT TARGET samegrad_torch_pch)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch_pch.cpp CONTENT "")
    add_library(samegrad_torch_pch OBJECT ${PROJECT_BINARY_DIR}/torch_pch.cpp)
    target_link_libraries(samegrad_torch_pch PUBLIC Libtorch::cpu)
    target_compile_options(samegrad_torch_pch PRIVATE ${SAMEGRAD_COMPILE_OPTIONS})
    target_precompile_headers(samegrad_torch_pch PRIVATE <ATen/ATen.h> <torch/csrc/autograd/autograd.h>
                              <torch/csrc/autograd/variable.h> <torch/csrc/autograd/function.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM samegrad_torch_pch)
endfunction()
