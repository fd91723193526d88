#include "samegrad/comm/aten_dispatch.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <cpuid.h>
#include <gnu/libc-version.h>
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include "samegrad/base/check.h"
#include "samegrad/base/digest.h"
#include "samegrad/kernels/isa.h"

// Of the MKL inside libtorch (it comes without headers); absent from a libtorch that has none.
extern "C" {
__attribute__((weak)) int mkl_serv_cbwr_get(int option);
__attribute__((weak)) int mkl_serv_cbwr_get_auto_branch();
__attribute__((weak)) int mkl_serv_get_max_threads();
}

namespace samegrad {
namespace {

constexpr const char* kNone = "none";

// Vendor, family and model as CPUID leaves 0 and 1 encode them (Intel SDM vol. 2A, CPUID; AMD APM vol. 3, E.3).
std::string processor() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return kNone;
  std::array<char, 12> vendor{};
  std::memcpy(vendor.data(), &ebx, 4);
  std::memcpy(vendor.data() + 4, &edx, 4);
  std::memcpy(vendor.data() + 8, &ecx, 4);
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  const unsigned int base_family = (eax >> 8U) & 0xFU;
  const unsigned int family = base_family == 0xFU ? base_family + ((eax >> 20U) & 0xFFU) : base_family;
  unsigned int model = (eax >> 4U) & 0xFU;
  if (base_family == 0x6U || base_family == 0xFU) model += ((eax >> 16U) & 0xFU) << 4U;
  return std::string(vendor.begin(), vendor.end()) + " family " + std::to_string(family) + " model " +
         std::to_string(model);
}

// mkl.h: MKL_CBWR_AUTO, ..., MKL_CBWR_STRICT; libtorch's MKL comes without it.
std::string mkl_branch_name(int branch) {
  constexpr std::array kNames{"OFF",    "unset", "AUTO", "COMPATIBLE", "SSE2",   "SSE3",          "SSSE3",    "SSE4_1",
                              "SSE4_2", "AVX",   "AVX2", "AVX512_MIC", "AVX512", "AVX512_MIC_E1", "AVX512_E1"};
  constexpr int kStrict = 0x10000;
  const auto index = static_cast<std::size_t>(branch & ~kStrict);
  const std::string name = index < kNames.size() ? kNames.at(index) : "branch " + std::to_string(index);
  return (branch & kStrict) != 0 ? name + ",STRICT" : name;
}

std::string mkl_cbwr() {
  constexpr int kAll = -1;  // MKL_CBWR_ALL: the branch with its flags
  return mkl_serv_cbwr_get == nullptr ? kNone : mkl_branch_name(mkl_serv_cbwr_get(kAll));
}

std::string mkl_branch() {
  return mkl_serv_cbwr_get_auto_branch == nullptr ? kNone : mkl_branch_name(mkl_serv_cbwr_get_auto_branch());
}

std::string mkl_threads() {
  return mkl_serv_get_max_threads == nullptr ? kNone : std::to_string(mkl_serv_get_max_threads());
}

// The first of the variables that is set, in upper case as oneDNN compares it.
std::string onednn_setting(std::initializer_list<const char*> variables, const char* default_value) {
  for (const char* variable : variables) {
    if (const char* const value = std::getenv(variable); value != nullptr && *value != '\0') {
      std::string upper = value;
      std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
      return upper;
    }
  }
  return default_value;
}

std::string floating_point() {
  constexpr std::array kRounding{"to nearest", "down", "up", "toward zero"};
  constexpr unsigned int kFlushToZero = 1U << 15U;
  constexpr unsigned int kDenormalsAreZero = 1U << 6U;
  const unsigned int control = _mm_getcsr();
  std::string text = std::string("rounding ") + kRounding.at((control >> 13U) & 3U);
  text += (control & kFlushToZero) != 0 ? ", results flushed to zero" : "";
  text += (control & kDenormalsAreZero) != 0 ? ", denormal inputs taken as zero" : "";
  return text;
}

// "2.11.0 build 1a2b3c4d5e6f": the digest is of all that libtorch says of its build (compilers, MKL, oneDNN, commit),
// without the line on what it dispatches to here, which is another fact.
std::string libtorch() {
  std::istringstream lines(at::show_config());
  std::string build;
  std::string version = "unknown";
  constexpr std::string_view kVersion = "TORCH_VERSION=";
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CPU capability usage") != std::string::npos) continue;
    build += line + "\n";
    if (const std::size_t at = line.find(kVersion); at != std::string::npos) {
      const std::size_t begin = at + kVersion.size();
      version = line.substr(begin, line.find(',', begin) - begin);
    }
  }
  return version + " build " + sha256_hex(build).substr(0, 12);
}

}  // namespace

Dispatch effective_dispatch() {
  Dispatch dispatch;
  dispatch.at("processor") = processor();
  dispatch.at("aten_capability") = at::get_cpu_capability();
  dispatch.at("samegrad_kernels") = isa_name(kernel_isa());
  dispatch.at("mkl_cbwr") = mkl_cbwr();
  dispatch.at("mkl_branch") = mkl_branch();
  dispatch.at("onednn_max_isa") = onednn_setting({"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}, "DEFAULT");
  dispatch.at("onednn_fpmath") = onednn_setting({"ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"}, "STRICT");
  dispatch.at("compute_threads") = std::to_string(at::get_num_threads());
  dispatch.at("mkl_threads") = mkl_threads();
  dispatch.at("floating_point") = floating_point();
  dispatch.at("libtorch") = libtorch();
  dispatch.at("libc") = std::string("glibc ") + gnu_get_libc_version();
  for (const std::string& value : dispatch.values) SAMEGRAD_CHECK_OP(value.empty(), ==, false);
  return dispatch;
}

}  // namespace samegrad
