// A loss over leaf tensors, run by windows on rank threads however the atoms are split, and by one process's autograd
// in double as a whole.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/ddp/window.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad::testing {

/// The loss sum of an atom from the leaves, of whatever dtype they are.
using GraphLoss = std::function<at::Tensor(const std::vector<at::Tensor>& leaves, std::int64_t atom)>;

struct GraphTrial {
  std::vector<NamedTensor> values;
  GraphLoss loss;
  WindowOptions options = {};
};

struct GraphOutcome {
  std::string error;
  std::vector<at::Tensor> gradients;  ///< undefined ones too
  std::map<std::string, int> calls;
};

constexpr std::int64_t kUnitsOfAnAtom = 3;

inline GraphOutcome run_rank(Communicator& inner, const GraphTrial& trial, std::int64_t atoms) {
  CountingCommunicator comm(inner);
  std::vector<NamedTensor> named;
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& value : trial.values) {
    leaves.push_back(value.tensor.clone().requires_grad_(true));
    named.push_back({value.name, leaves.back()});
  }
  const ParameterSet set(named);
  GradientBufferPool pool(set);
  GraphOutcome outcome;
  try {
    Window window(set, pool, comm, {.count = kUnitsOfAnAtom * atoms, .atoms = atoms, .update = 3}, {}, trial.options);
    for (std::int64_t i = 0; i < atoms; ++i) window.backward([&] { return trial.loss(leaves, window.atom()); });
    window.reduce();
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  for (const at::Tensor& leaf : leaves) outcome.gradients.push_back(leaf.grad());
  outcome.calls = comm.calls();
  return outcome;
}

/// By rank. `split`: atoms of each rank.
inline std::vector<GraphOutcome> run_split(const GraphTrial& trial, const std::vector<std::int64_t>& split) {
  std::vector<GraphOutcome> outcomes(split.size());
  EXPECT_EQ(run_ranks(static_cast<int>(split.size()),
                      [&](Communicator& comm) {
                        const auto rank = static_cast<std::size_t>(comm.rank());
                        outcomes[rank] = run_rank(comm, trial, split[rank]);
                      }),
            nothing_thrown(static_cast<int>(split.size())));
  return outcomes;
}

/// Of sum / N over atoms first.., in double and in one graph.
inline std::vector<at::Tensor> whole_gradient(const std::vector<NamedTensor>& values, const GraphLoss& loss,
                                              std::int64_t atoms, std::int64_t first = 0) {
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& value : values) leaves.push_back(value.tensor.to(at::kDouble).clone().requires_grad_(true));
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (std::int64_t atom = first; atom < atoms; ++atom) sum = sum + loss(leaves, atom);
  (sum / static_cast<double>(kUnitsOfAnAtom * atoms)).backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

/// Each component within 1e-6 + 1e-4 of the expected one; an undefined gradient where one is expected.
inline bool agree(const std::vector<at::Tensor>& gradients, const std::vector<at::Tensor>& expected) {
  bool within = gradients.size() == expected.size();
  for (std::size_t i = 0; within && i < expected.size(); ++i) {
    within = gradients[i].defined() == expected[i].defined();
    if (!within || !expected[i].defined()) continue;
    const at::Tensor error = (gradients[i].to(at::kDouble) - expected[i]).abs();
    within = (error <= 1e-6 + 1e-4 * expected[i].abs()).all().item<bool>();
  }
  return within;
}

inline std::vector<std::string> hashes(const std::vector<at::Tensor>& tensors) {
  std::vector<std::string> found;
  for (const at::Tensor& tensor : tensors) {
    found.push_back(
        tensor.defined() ? xxh3_128_hex({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()}) : "");
  }
  return found;
}

}  // namespace samegrad::testing
