#include "samegrad/checkpoint/module_tensors.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/printable.h"

namespace samegrad::checkpoint {
namespace {

constexpr std::array kTypes = {
    std::pair{at::kFloat, TensorType::kFloat32}, std::pair{at::kDouble, TensorType::kFloat64},
    std::pair{at::kLong, TensorType::kInt64},    std::pair{at::kByte, TensorType::kUint8},
    std::pair{at::kHalf, TensorType::kFloat16},  std::pair{at::kBFloat16, TensorType::kBfloat16},
    std::pair{at::kChar, TensorType::kInt8},     std::pair{at::kShort, TensorType::kInt16},
    std::pair{at::kInt, TensorType::kInt32},     std::pair{at::kBool, TensorType::kBool}};

at::ScalarType scalar_type(TensorType type) {
  return std::ranges::find(kTypes, type, &std::pair<at::ScalarType, TensorType>::second)->first;
}

TensorType type_of(const at::Tensor& tensor) {
  return std::ranges::find(kTypes, tensor.scalar_type(), &std::pair<at::ScalarType, TensorType>::first)->second;
}

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

[[noreturn]] void refuse(const std::string& file, const std::string& tensor, const std::string& what) {
  throw CheckError("checkpoint", file + ": tensor '" + printable(tensor) + "' " + what);
}

}  // namespace

StoredTensor stored_tensor(const std::string& name, const at::Tensor& tensor) {
  const auto refuse_to_save = [&](const std::string& what) {
    throw InputError("checkpoint", "tensor '" + printable(name) + "': " + what);
  };
  if (!tensor.defined()) refuse_to_save("it is undefined; leave it out");
  if (tensor.layout() != at::kStrided || tensor.is_quantized()) {
    refuse_to_save("its layout is not dense; a tensor file holds dense tensors: give it as to_dense() or dequantize()");
  }
  if (std::ranges::none_of(kTypes, [&](const auto& type) { return type.first == tensor.scalar_type(); })) {
    refuse_to_save(std::string("its type is ") + c10::toString(tensor.scalar_type()) +
                   "; a tensor file holds float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8 and "
                   "bool: convert it (a complex one by at::view_as_real)");
  }
  if (at::has_internal_overlap(tensor) == at::MemOverlap::Yes) {
    refuse_to_save("its elements share memory, so it could not be loaded again; register expand(...).contiguous()");
  }
  const at::Tensor plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
  return {.name = name, .values = plain};
}

std::vector<TensorView> views_of(const std::vector<StoredTensor>& tensors) {
  std::vector<TensorView> views;
  views.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) {
    views.push_back({.name = tensor.name,
                     .type = type_of(tensor.values),
                     .shape = tensor.values.sizes().vec(),
                     .bytes = {static_cast<const std::byte*>(tensor.values.const_data_ptr()), tensor.values.nbytes()}});
  }
  std::ranges::stable_sort(views, std::greater(), [](const TensorView& view) { return element_size(view.type); });
  return views;
}

std::map<std::string, std::string> digests_of(const std::vector<StoredTensor>& tensors) {
  std::map<std::string, std::string> digests;
  for (const StoredTensor& tensor : tensors) {
    digests[tensor.name] =
        xxh3_128_hex({static_cast<const char*>(tensor.values.const_data_ptr()), tensor.values.nbytes()});
  }
  return digests;
}

std::string ModuleTensors::name_of(const at::Tensor& tensor) const {
  const auto found = std::ranges::find_if(tensors, [&](const Named& named) { return named.tensor.is_same(tensor); });
  return found == tensors.end() ? std::string() : found->name;
}

ModuleTensors module_tensors(const torch::nn::Module& module) {
  ModuleTensors found;
  std::unordered_map<const void*, std::string> names;
  const auto add = [&](const auto& named_tensors, bool parameter) {
    for (const auto& item : named_tensors) {
      const auto [known, is_new] = names.try_emplace(item.value().unsafeGetTensorImpl(), item.key());
      if (is_new) {
        found.tensors.push_back({.name = item.key(), .tensor = item.value(), .parameter = parameter});
      } else {
        found.aliases[item.key()] = known->second;
      }
    }
  };
  add(module.named_parameters(), /*parameter=*/true);
  add(module.named_buffers(), /*parameter=*/false);
  return found;
}

void place_all(const std::vector<Placement>& placements) {
  const at::NoGradGuard no_gradient;
  for (const Placement& placement : placements) placement.place.copy_(placement.values);
}

at::Tensor read_tensor(const TensorView& view, const std::string& file) {
  if (view.type == TensorType::kBool && std::ranges::any_of(view.bytes, [](std::byte b) { return b > std::byte{1}; })) {
    refuse(file, view.name, "holds a truth value that is neither 0 nor 1");
  }
  at::Tensor values = at::empty(view.shape, at::TensorOptions(scalar_type(view.type)));
  if (!view.bytes.empty()) std::memcpy(values.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return values;
}

at::Tensor read_tensor_like(const TensorView& view, const at::Tensor& like, const std::string& file) {
  if (at::IntArrayRef(view.shape) != like.sizes()) {
    refuse(file, view.name, "has shape " + shape_text(view.shape) + "; here it is " + shape_text(like.sizes()));
  }
  if (scalar_type(view.type) != like.scalar_type()) {
    refuse(file, view.name,
           std::string("is of ") + c10::toString(scalar_type(view.type)) + "; here it is of " +
               c10::toString(like.scalar_type()));
  }
  return read_tensor(view, file);
}

std::vector<Placement> prepare_module(const std::filesystem::path& path, const ModuleTensors& module) {
  const SafetensorsFile file(path);
  const std::string name = path.string();
  for (const auto& [alias, kept] : module.aliases) {
    if (file.find(alias) != nullptr) refuse(name, alias, "stands by itself; here it is tied to '" + kept + "'");
  }
  for (const auto& [alias, kept] : file.metadata()) {
    const auto here = module.aliases.find(alias);
    if (here == module.aliases.end() || here->second != kept) {
      refuse(name, alias, "is tied to '" + printable(kept) + "'; here it is not: tie the two before loading");
    }
  }
  std::vector<Placement> placements;
  for (const ModuleTensors::Named& named : module.tensors) {
    const TensorView* view = file.find(named.name);
    if (view == nullptr) refuse(name, named.name, "is missing; the model here has it");
    if (named.tensor.layout() != at::kStrided || at::has_internal_overlap(named.tensor) == at::MemOverlap::Yes) {
      refuse(name, named.name, "cannot be loaded: here its layout is not dense, or its elements share memory");
    }
    placements.push_back({.place = named.tensor, .values = read_tensor_like(*view, named.tensor, name)});
  }
  for (const TensorView& view : file.tensors()) {
    if (std::ranges::find(module.tensors, view.name, &ModuleTensors::Named::name) == module.tensors.end()) {
      refuse(name, view.name, "is surplus; the model here has no parameter or buffer of that name");
    }
  }
  return placements;
}

}  // namespace samegrad::checkpoint
