// Names, shapes and initial values of a model's parameters, without libtorch. Names are PyTorch's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "samegrad/config/run_config.h"

namespace samegrad {

enum class InitRule { kZero, kOne, kNormal };

struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  InitRule init = InitRule::kZero;
  double standard_deviation = 0.0;  ///< of kNormal

  std::int64_t elements() const;
};

/// The parameters of the config's model in canonical order. Local.
std::vector<ParameterSpec> parameter_specs(const ModelConfig& model);

/// Writes the initial value of parameter `index` into `values`; depends on (seed, index, spec) alone: Philox bits, the
/// inverse of the normal distribution in plain arithmetic, no ATen generator and no libm. Local.
void initialise_parameter(const ParameterSpec& spec, std::int64_t index, std::uint64_t seed, std::span<float> values);

}  // namespace samegrad
