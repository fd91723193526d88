// Tensors of libtorch as a tensor file holds them: named, row-major, in host memory; and back into their places, all or
// none.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "samegrad/checkpoint/safetensors.h"

namespace torch::nn {
class Module;
}

namespace samegrad::checkpoint {

/// Values that a file is to hold: contiguous, on the CPU, without gradient.
struct StoredTensor {
  std::string name;
  at::Tensor values;
};

/// Throws InputError naming the tensor: a type of number that tensor files do not hold (complex, quantized, float8), a
/// sparse layout, elements that share memory (expand()). Local.
StoredTensor stored_tensor(const std::string& name, const at::Tensor& tensor);

/// Views of `tensors`, which must live as long; larger elements first, so that any reader finds each one aligned.
/// Local.
std::vector<TensorView> views_of(const std::vector<StoredTensor>& tensors);

/// XXH3-128 of the values, by name. Local.
std::map<std::string, std::string> digests_of(const std::vector<StoredTensor>& tensors);

/// The parameters and buffers of a module, as the module holds them.
struct ModuleTensors {
  struct Named {
    std::string name;
    at::Tensor tensor;
    bool parameter = false;
  };
  std::vector<Named> tensors;                  ///< parameters, then buffers, in the module's order; tied ones once
  std::map<std::string, std::string> aliases;  ///< further names of a tied tensor -> the name it has in `tensors`

  /// The name of the tensor that `tensor` is; "" where it is none of these.
  std::string name_of(const at::Tensor& tensor) const;
};

/// Local.
ModuleTensors module_tensors(const torch::nn::Module& module);

/// Values read from a file, and the tensor that is to take them: it has the same shape and type.
struct Placement {
  at::Tensor place;
  at::Tensor values;
};

/// Copies each into its place, under no gradient. Local.
void place_all(const std::vector<Placement>& placements);

/// A tensor of the file, copied out of it. Throws CheckError naming file and tensor for a truth value that is neither 0
/// nor 1. Local.
at::Tensor read_tensor(const TensorView& view, const std::string& file);

/// read_tensor, which must have `like`'s shape and type of number. Throws CheckError naming file, tensor, and both
/// shapes or types. Local.
at::Tensor read_tensor_like(const TensorView& view, const at::Tensor& like, const std::string& file);

/// What puts model.safetensors into `module`. Throws CheckError naming file and tensor: missing, surplus, of another
/// shape or type, tied in one and not in the other; nothing has been changed then. Local.
std::vector<Placement> prepare_module(const std::filesystem::path& file, const ModuleTensors& module);

}  // namespace samegrad::checkpoint
