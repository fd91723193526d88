// A kernel on every set of instructions that this processor has, not only on the one that the process chose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/base/philox.h"
#include "samegrad/kernels/isa.h"

namespace samegrad {

template <typename Function>
struct KernelOnIsa {
  std::string isa;
  Function* run;
};

template <typename Function>
std::vector<KernelOnIsa<Function>> on_every_isa(Function& portable, Function& avx2, Function& avx512) {
  std::vector<KernelOnIsa<Function>> kernels{{"portable", &portable}};
  if (best_isa("") >= Isa::kAvx2) kernels.push_back({"avx2", &avx2});
  if (best_isa("") >= Isa::kAvx512) kernels.push_back({"avx512", &avx512});
  return kernels;
}

/// Uniform in [-scale, scale), a function of `seed` and the place.
inline std::vector<float> noise(std::int64_t count, std::uint32_t seed, float scale = 1.0F) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        scale * (2.0F * philox_unit_float(philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 5})[0]) - 1.0F);
  }
  return values;
}

inline std::vector<double> in_double(const std::vector<float>& values) { return {values.begin(), values.end()}; }

}  // namespace samegrad
