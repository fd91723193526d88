#include "samegrad/ddp/parameter_set.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

/// "" or why `tensor` cannot be a parameter of a window.
std::string refusal_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return "is undefined; register it before";
  if (!tensor.device().is_cpu()) {
    return "is on device " + tensor.device().str() + "; windows take tensors on the CPU, move the model there";
  }
  if (tensor.layout() != at::kStrided)
    return "is sparse; windows take dense parameters (their gradients may be sparse)";
  if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble) {
    return std::string("is of type ") + c10::toString(tensor.scalar_type()) +
           "; windows take float32 and float64, convert the parameter";
  }
  if (!tensor.requires_grad()) return "does not require a gradient; leave it out of the window's parameters";
  if (!tensor.is_leaf()) return "is no leaf of the graph but computed from others; give those instead";
  return "";
}

/// As autograd wants them: the parameter's own (channels_last), where those are dense. Empty: contiguous.
std::vector<std::int64_t> gradient_strides(const at::Tensor& tensor) {
  const bool own = !tensor.is_contiguous() && tensor.is_non_overlapping_and_dense();
  return own ? tensor.strides().vec() : std::vector<std::int64_t>();
}

ElementType type_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? ElementType::kFloat64 : ElementType::kFloat32;
}

}  // namespace

ParameterSet::ParameterSet(std::vector<NamedTensor> parameters) {
  std::unordered_set<const c10::TensorImpl*> seen;
  for (NamedTensor& parameter : parameters) {
    if (std::string refusal = refusal_of(parameter.tensor); !refusal.empty()) {
      throw InputError("ddp", "parameter " + parameter.name + " " + refusal);
    }
    if (seen.insert(parameter.tensor.unsafeGetTensorImpl()).second) parameters_.push_back(std::move(parameter));
  }
  if (parameters_.empty()) {
    throw InputError("ddp",
                     "there are no parameters, at least one that requires a gradient is needed; look whether "
                     "the whole model is frozen");
  }
  std::ostringstream description;
  std::vector<ElementType> types;
  for (const NamedTensor& parameter : parameters_) {
    description << parameter.name << '\n'
                << parameter.tensor.dtype() << parameter.tensor.sizes() << gradient_strides(parameter.tensor) << '\n';
    const ElementType type = type_of(parameter.tensor);
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  digest_ = xxh3_128_hex(description.str());
  for (const ElementType type : types) {
    std::vector<NamedShape> shapes;
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& tensor = parameters_[i].tensor;
      if (type_of(tensor) != type) continue;
      shapes.push_back({parameters_[i].name, tensor.sizes().vec(), gradient_strides(tensor)});
      members.push_back(i);
    }
    groups_.push_back({FlatLayout(shapes, type), std::move(members)});
  }
}

}  // namespace samegrad
