// The gradient check of `evaluate`, `exercise` and `verify`: one window's gradients by all ranks, compared with the
// reference.
#pragma once

#include <string>
#include <vector>

#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/report/compare.h"
#include "samegrad/report/run_report.h"
#include "samegrad/train/reference.h"
#include "samegrad/train/window_check.h"

namespace samegrad {

struct GradientCheck {
  Comparison exact;
  Comparison lesson_form;
  std::vector<ControlFacts> controls;
};

/// Compares every gradient of `check` with the tensors of `reference` under the lesson's tolerance. Local.
GradientCheck compare_with_reference(const WindowCheck& check, const FlatLayout& layout,
                                     std::span<const TensorView> reference);

/// Compares one control; one that cannot show is compared with nothing. Local.
ControlFacts compare_control(const ControlGradient& control, const FlatLayout& layout,
                             std::span<const TensorView> reference);

/// Views of a reference's gradients, which must outlive them. Local.
std::vector<TensorView> reference_views(const ReferenceResult& reference, const FlatLayout& layout);

}  // namespace samegrad
