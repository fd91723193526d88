#include "apps/samegrad/gradient_check.h"

#include "samegrad/checkpoint/training_checkpoint.h"

namespace samegrad {

GradientCheck compare_with_reference(const WindowCheck& check, const FlatLayout& layout,
                                     std::span<const TensorView> reference) {
  GradientCheck result;
  result.exact = compare_tensors(parameter_views(layout, check.exact), reference);
  result.lesson_form = compare_tensors(parameter_views(layout, check.lesson_form), reference);
  for (const WindowCheck::Wrong& wrong : check.wrong) {
    result.controls.push_back({std::string(control_name(wrong.control)),
                               compare_tensors(parameter_views(layout, wrong.gradient), reference)});
  }
  return result;
}

std::vector<TensorView> reference_views(const ReferenceResult& reference, const FlatLayout& layout) {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < layout.places().size(); ++i) {
    views.push_back(
        {layout.places()[i].name,
         TensorType::kFloat32,
         layout.places()[i].shape,
         {static_cast<const std::byte*>(reference.gradients[i].const_data_ptr()), reference.gradients[i].nbytes()}});
  }
  return views;
}

}  // namespace samegrad
