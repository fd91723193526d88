// The trainable parameters of any libtorch model as a window sees them: leaf tensors, wherever their memory is, grouped
// by dtype; the gradients of a group lie in one flat block.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "samegrad/ddp/flat_layout.h"
#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

class ParameterSet {
 public:
  /// Parameters of one dtype.
  struct Group {
    FlatLayout layout;                 ///< of their gradients, in the order given
    std::vector<std::size_t> members;  ///< into parameters(), in that order
  };

  /// In the order given; a tensor that is given twice (tied) is one parameter, by its first name. InputError, naming
  /// the parameter, for one that is no leaf, does not require a gradient, is sparse, not on the CPU, or neither float32
  /// nor float64, and for no parameters at all. Local.
  explicit ParameterSet(std::vector<NamedTensor> parameters);

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  /// At least one, in the order of their first parameters.
  const std::vector<Group>& groups() const { return groups_; }
  /// XXH3-128 (32 hexadecimal digits) of names, shapes and dtypes: ranks whose gradients fit together have the same.
  const std::string& digest() const { return digest_; }

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<Group> groups_;
  std::string digest_;
};

}  // namespace samegrad
