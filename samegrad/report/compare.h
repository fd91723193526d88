// Two sets of named tensors, component by component: |value - reference| <= absolute + relative x |reference|.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/checkpoint/safetensors.h"

namespace samegrad {

/// What a component may be off by: absolute + relative x |reference|. The defaults are the lesson's.
struct Tolerance {
  double absolute = 1e-6;
  double relative = 1e-4;

  double allowed(double reference) const;
};

/// One component of one parameter.
struct ComponentError {
  std::string parameter{};
  std::int64_t index = 0;  ///< row-major
  double value = 0.0;
  double reference = 0.0;
  double error = 0.0;    ///< |value - reference|; NaN where one of the two is not finite
  double allowed = 0.0;  ///< by the tolerance
};

/// All components of one parameter that is in both sets with one shape.
struct ParameterComparison {
  std::string name{};
  std::vector<std::int64_t> shape{};
  std::int64_t elements = 0;
  std::int64_t outside = 0;    ///< components whose error is not within the tolerance; every non-finite one is
  std::int64_t different = 0;  ///< components whose bits differ, as numbers of double precision (-0 differs from +0)
  double largest_reference = 0.0;  ///< max |reference| over the finite ones
  ComponentError worst{};          ///< largest error; a non-finite one is larger than all
};

struct Comparison {
  Tolerance tolerance{};
  std::vector<ParameterComparison> parameters{};  ///< in the reference's order
  std::vector<std::string> problems{};            ///< missing, extra, repeated, mis-shaped or mistyped names
  std::int64_t elements = 0;
  std::int64_t outside = 0;
  std::int64_t different = 0;
  ComponentError worst{};  ///< over all parameters

  /// Something was compared, nothing is outside, and both sets have the same names and shapes.
  bool within_tolerance() const;
  /// The same, and every component has the reference's bits.
  bool identical() const;
};

/// Compares every component. float32 may stand against float64; other types, and names or shapes that do not match, go
/// to `problems`. Never throws for content. Local.
Comparison compare_tensors(std::span<const TensorView> values, std::span<const TensorView> reference,
                           const Tolerance& tolerance = {});

/// compare_tensors over two safetensors files. Throws InputError or CheckError where one cannot be read. Local.
Comparison compare_tensor_files(const std::filesystem::path& values, const std::filesystem::path& reference,
                                const Tolerance& tolerance = {});

/// {"within_tolerance","identical","atol","rtol","elements","outside","different","worst","problems","parameters"};
/// numbers as report/json_number.h writes them. Local.
Json comparison_to_json(const Comparison& comparison);

/// The inverse of comparison_to_json. Throws nlohmann::json::exception for another form. Local.
Comparison comparison_from_json(const Json& json);

}  // namespace samegrad
