#include "apps/samegrad/gradient_check.h"

#include "samegrad/checkpoint/training_checkpoint.h"

namespace samegrad {

GradientCheck compare_with_reference(const WindowCheck& check, const FlatLayout& layout,
                                     std::span<const TensorView> reference) {
  GradientCheck result;
  result.exact = compare_tensors(parameter_views(layout, check.exact), reference);
  result.lesson_form = compare_tensors(parameter_views(layout, check.lesson_form), reference);
  for (const ControlGradient& control : check.controls) {
    if (control.cannot_show.empty()) result.controls.push_back(compare_control(control, layout, reference));
  }
  return result;
}

ControlFacts compare_control(const ControlGradient& control, const FlatLayout& layout,
                             std::span<const TensorView> reference) {
  ControlFacts facts{.name = std::string(control_name(control.control)), .against_reference = {}};
  if (control.cannot_show.empty()) {
    facts.against_reference = compare_tensors(parameter_views(layout, std::span(control.gradient)), reference);
  }
  return facts;
}

std::vector<TensorView> reference_views(const ReferenceResult& reference, const FlatLayout& layout) {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < layout.places().size(); ++i) {
    views.push_back(
        {layout.places()[i].name,
         reference.gradients[i].scalar_type() == at::kDouble ? TensorType::kFloat64 : TensorType::kFloat32,
         layout.places()[i].shape,
         {static_cast<const std::byte*>(reference.gradients[i].const_data_ptr()), reference.gradients[i].nbytes()}});
  }
  return views;
}

}  // namespace samegrad
