// A wrapped module with everything that could make bits depend on who computes what: BatchNorm, dropout, two dtypes,
// and the atoms of a window for it.
#pragma once

#include <torch/nn/functional/dropout.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <vector>

#include "samegrad/comm/world.h"
#include "samegrad/plan/atom_tree.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {

inline constexpr std::int64_t kAtoms = 5;

struct Atom {
  at::Tensor x;
  std::int64_t units;
};

inline std::vector<Atom> atoms_of(const World& world, int update) {
  const AtomRange range = rank_ranges(kAtoms, world.size())[static_cast<std::size_t>(world.rank())];
  std::vector<Atom> atoms;
  for (std::int64_t a = range.begin; a < range.end; ++a) {
    atoms.push_back({rows(static_cast<int>(a), update, /*count=*/2 + a), 2 * (2 + a)});
  }
  return atoms;
}

/// BatchNorm, dropout from ATen's generator, two dtypes.
struct DeepImpl : torch::nn::Module {
  DeepImpl()
      : a(register_module("a", torch::nn::Linear(4, 6))),
        norm(register_module("norm", torch::nn::BatchNorm1d(6))),
        b(register_module("b", torch::nn::Linear(6, 2))) {
    b->to(at::kDouble);
    fill(*this);
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor hidden =
        torch::nn::functional::dropout(at::tanh(norm->forward(a->forward(x))),
                                       torch::nn::functional::DropoutFuncOptions().p(0.3).training(is_training()));
    return b->forward(hidden.to(at::kDouble));
  }
  torch::nn::Linear a{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Linear b{nullptr};
};
TORCH_MODULE(Deep);

}  // namespace samegrad::testing
