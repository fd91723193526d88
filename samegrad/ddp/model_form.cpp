#include "samegrad/ddp/model_form.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <string_view>

#include "samegrad/base/digest.h"

namespace samegrad {
namespace {

constexpr std::size_t kMostNamed = 3;
constexpr std::size_t kMostCharacters = 340;

std::string form_of(const at::Tensor& tensor) {
  std::ostringstream form;
  form << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  if (tensor.requires_grad() && !tensor.is_contiguous()) form << " with strides " << tensor.strides();
  form << (tensor.requires_grad() ? ", trained" : ", not trained");
  return form.str();
}

std::uint64_t mixed(std::uint64_t mark, std::uint64_t value) {
  mark = (mark ^ value) * 0x9E3779B97F4A7C15U;
  return mark ^ (mark >> 29U);
}

std::uint64_t marked_form(std::uint64_t mark, const at::Tensor& tensor) {
  mark = mixed(mark, static_cast<std::uint64_t>(tensor.scalar_type()) * 2 + (tensor.requires_grad() ? 1 : 0));
  mark = mixed(mark, static_cast<std::uint64_t>(tensor.device().type()));
  for (const std::int64_t size : tensor.sizes()) mark = mixed(mark, static_cast<std::uint64_t>(size));
  if (tensor.layout() != at::kStrided) return mixed(mark, 1);
  if (tensor.is_contiguous()) return mixed(mark, 2);
  for (const std::int64_t stride : tensor.strides()) mark = mixed(mark, static_cast<std::uint64_t>(stride));
  return mark;
}

std::string names_of(const std::vector<TensorForm>& forms) {
  std::string names;
  for (const TensorForm& form : forms) names += form.name + '\n';
  return names;
}

const TensorForm* find(const std::vector<TensorForm>& forms, const std::string& name) {
  const auto found = std::ranges::find(forms, name, &TensorForm::name);
  return found == forms.end() ? nullptr : &*found;
}

}  // namespace

std::vector<TensorForm> forms_of_parameters(const std::vector<NamedTensor>& parameters) {
  std::vector<TensorForm> forms;
  for (const NamedTensor& named : parameters)
    forms.push_back(
        {named.name, form_of(named.tensor), named.tensor.requires_grad(), named.tensor.unsafeGetTensorImpl()});
  return forms;
}

std::vector<TensorForm> forms_of_buffers(const std::vector<NamedTensor>& buffers) {
  std::vector<TensorForm> forms;
  for (const NamedTensor& named : buffers) forms.push_back({named.name, form_of(named.tensor)});
  return forms;
}

std::string changes_of_form(const std::vector<TensorForm>& before, const std::vector<TensorForm>& now) {
  std::vector<std::string> changes;
  for (const TensorForm& form : now) {
    const TensorForm* const old = find(before, form.name);
    if (old == nullptr) {
      changes.push_back(form.name + " is new: " + form.form);
    } else if (old->form != form.form) {
      changes.push_back(form.name + " is " + form.form + " (it was " + old->form + ")");
    } else if (old->identity != form.identity) {
      changes.push_back(form.name + " is another tensor");
    }
  }
  for (const TensorForm& form : before) {
    if (find(now, form.name) == nullptr) changes.push_back(form.name + " is gone");
  }
  if (const std::string names = names_of(now); changes.empty() && names != names_of(before)) {
    changes.push_back(now.front().name + " and others are in another order (" + xxh3_128_hex(names) + ")");
  }
  std::string all;
  std::string said;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    all += changes[i] + '\n';
    if (i < kMostNamed) said += (i > 0 ? ", " : "") + changes[i];
  }
  if (changes.size() <= kMostNamed && said.size() <= kMostCharacters) return said;
  return said.substr(0, kMostCharacters) + " ... (" + std::to_string(changes.size()) + " changes, " +
         xxh3_128_hex(all) + ")";
}

std::uint64_t marked_parameter(std::uint64_t mark, const at::Tensor& parameter) {
  return marked_form(mixed(mark, reinterpret_cast<std::uintptr_t>(parameter.unsafeGetTensorImpl())), parameter);
}

std::uint64_t mark_of_parameters(const std::vector<NamedTensor>& parameters) {
  std::uint64_t mark = 0;
  for (const NamedTensor& named : parameters) mark = marked_parameter(mark, named.tensor);
  return mark;
}

std::uint64_t mark_of_buffers(const std::vector<NamedTensor>& buffers) {
  std::uint64_t mark = 0;
  for (const NamedTensor& named : buffers)
    mark = marked_form(mixed(mark, std::hash<std::string_view>()(named.name)), named.tensor);
  return mark;
}

}  // namespace samegrad
