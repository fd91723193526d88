// What a comparison of gradients says, judged: the right one must be within the tolerance everywhere, a control must be
// rejected.
#pragma once

#include <cstdint>
#include <string>

#include "samegrad/report/check_result.h"
#include "samegrad/report/compare.h"

namespace samegrad {

/// A gradient made wrong on purpose. The check must reject it.
struct ControlFacts {
  std::string name{};  ///< e.g. "mean-of-means"
  Comparison against_reference{};
};

/// "0 outside, largest error 3.7e-8 in head.bias[2]", or what could not be compared. Local.
std::string comparison_text(const Comparison& comparison);

/// Holds where all `parameters` components were compared and are within the tolerance. Local.
CheckResult gradient_check(const std::string& name, const Comparison& comparison, std::int64_t parameters);

/// Holds where the control was rejected by components that are finite and outside the tolerance: one that could not be
/// compared proves nothing. Local.
CheckResult control_check(const ControlFacts& control);

}  // namespace samegrad
