// Windows over a loss of four terms (a mean over units, one over weights, one by a constant, a regulariser) on thread
// ranks, whose terms and sums a test changes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/ddp/graph_trial.h"

namespace samegrad::testing {

using Leaves = std::vector<at::Tensor>;
using Split = std::vector<std::int64_t>;

inline constexpr std::int64_t kAtoms = 6;
inline constexpr double kConstant = 1000.0;
inline const std::vector<Split> kSplits{{6}, {2, 4}, {4, 0, 2}, {1, 4, 1}};

inline std::vector<NamedTensor> initial_values() {
  const auto values = [](at::IntArrayRef sizes, double frequency, std::int64_t elements) {
    return (at::arange(elements, at::kDouble) * frequency + 0.3).sin().reshape(sizes);
  };
  return {{"weight", values({4, 4}, 0.9, 16).to(at::kFloat)},
          {"bias", values({4}, 1.7, 4).to(at::kFloat)},
          {"scale", values({4}, 0.6, 4)}};
}

inline std::int64_t lm_units(std::int64_t atom) { return atom == 1 ? 0 : 3 + 5 * atom; }
inline double aux_weight(std::int64_t atom) { return atom == 3 ? 0.0 : 0.3 + 0.7 * static_cast<double>(atom); }

inline at::Tensor hidden(const Leaves& leaves, std::int64_t rows, std::int64_t atom) {
  const at::Tensor inputs = (at::arange(rows * 4, at::kDouble) * (0.17 + 0.06 * static_cast<double>(atom))).cos();
  return at::tanh(at::matmul(inputs.reshape({rows, 4}).to(leaves[0].dtype()), leaves[0]) + leaves[1]);
}
inline at::Tensor lm(const Leaves& leaves, std::int64_t atom) {
  const std::int64_t rows = lm_units(atom);
  return rows == 0 ? at::Tensor() : (hidden(leaves, rows, atom).to(at::kDouble) * leaves[2]).pow(2).sum();
}
inline at::Tensor aux(const Leaves& leaves, std::int64_t atom) {
  return hidden(leaves, 2, atom).sum() * aux_weight(atom);
}
inline at::Tensor fixed(const Leaves& leaves, std::int64_t atom) { return hidden(leaves, 5, atom).pow(4).sum(); }
inline at::Tensor l2(const Leaves& leaves) { return leaves[0].pow(2).sum() * 0.01; }

/// sum over terms of S_k / N_k, in one graph, in double; `lm_divisor` by atom.
inline Leaves whole(const std::function<double(std::int64_t)>& lm_divisor, bool with_aux = true) {
  Leaves leaves;
  for (const NamedTensor& value : initial_values()) {
    leaves.push_back(value.tensor.to(at::kDouble).clone().requires_grad_(true));
  }
  double weights = 0.0;
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) weights += aux_weight(atom);
  at::Tensor objective = l2(leaves);
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) {
    if (lm_units(atom) > 0) objective = objective + lm(leaves, atom) / lm_divisor(atom);
    if (with_aux) objective = objective + aux(leaves, atom) / weights;
    objective = objective + fixed(leaves, atom) / kConstant;
  }
  objective.backward();
  Leaves gradients;
  for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

inline double all_lm_units() {
  double units = 0.0;
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) units += static_cast<double>(lm_units(atom));
  return units;
}

/// What the terms and the callable are on a rank that has atoms `range`; changed by a test.
struct Trial {
  std::function<void(WindowRequest&, int rank)> change = [](WindowRequest&, int) {};
  std::function<void(std::vector<at::Tensor>&, std::int64_t atom)> change_sums = [](auto&, std::int64_t) {};
};

struct Outcome {
  std::string error;
  WindowAction action = WindowAction::kRefuse;
  Leaves gradients;
  LossSum loss;
  std::vector<TermLoss> terms;
  std::map<std::string, int> calls;
};

inline WindowRequest request_of(AtomRange range) {
  std::int64_t units = 0;
  std::vector<double> weights;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    units += lm_units(atom);
    weights.push_back(aux_weight(atom));
  }
  return {.atoms = range.size(),
          .terms = {{.name = "lm", .count = units},
                    {.name = "aux", .weights = weights},
                    {.name = "fixed", .constant = kConstant},
                    {.name = "l2", .kind = TermKind::kRegularizer}},
          .update = 3};
}

inline Outcome run_rank(Communicator& inner, const Trial& trial, const Split& split) {
  CountingCommunicator comm(inner);
  const std::int64_t first = std::accumulate(split.begin(), split.begin() + comm.rank(), std::int64_t{0});
  WindowRequest request = request_of({first, first + split[static_cast<std::size_t>(comm.rank())]});
  trial.change(request, comm.rank());
  std::vector<NamedTensor> parameters = initial_values();
  Leaves leaves;
  for (NamedTensor& parameter : parameters) leaves.push_back(parameter.tensor.requires_grad_(true));
  const ParameterSet set(parameters);
  GradientBufferPool pool(set);
  Outcome outcome;
  try {
    Window window(set, pool, comm, request);
    outcome.action = window.decision().action;
    for (std::int64_t i = 0; i < request.atoms.value(); ++i) {
      window.backward([&] {
        const std::int64_t atom = window.atom();
        std::vector<at::Tensor> sums{lm(leaves, atom), aux(leaves, atom), fixed(leaves, atom),
                                     atom == 0 ? l2(leaves) : at::Tensor()};
        trial.change_sums(sums, atom);
        return sums;
      });
    }
    window.reduce();
    outcome.loss = window.loss();
    outcome.terms.assign(window.term_losses().begin(), window.term_losses().end());
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  for (const at::Tensor& leaf : leaves) outcome.gradients.push_back(leaf.grad());
  outcome.calls = comm.calls();
  return outcome;
}

inline std::vector<Outcome> run(const Split& split, const Trial& trial = {}) {
  std::vector<Outcome> outcomes(split.size());
  const auto ranks = static_cast<int>(split.size());
  EXPECT_EQ(run_ranks(ranks,
                      [&](Communicator& comm) {
                        outcomes[static_cast<std::size_t>(comm.rank())] = run_rank(comm, trial, split);
                      }),
            nothing_thrown(ranks));
  return outcomes;
}

inline std::vector<std::string> errors_of(const Split& split, const Trial& trial) {
  std::vector<std::string> errors;
  for (const Outcome& outcome : run(split, trial)) errors.push_back(outcome.error);
  return errors;
}

}  // namespace samegrad::testing
