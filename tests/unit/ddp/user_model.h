// A model that is no flat block: leaf tensors of two dtypes, cut into atoms that any number of ranks share in any way,
// and what one process computes for all of them in double.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/ddp/window.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad::testing {

/// Atoms of each rank.
using Split = std::vector<std::int64_t>;

struct UserModel {
  at::Tensor weight = (at::arange(12, at::kFloat) * 0.7).sin().reshape({3, 4}).requires_grad_(true);
  at::Tensor scale = (at::arange(3, at::kDouble) * 0.9).cos().requires_grad_(true);
  at::Tensor bias = at::full({3}, 0.2, at::kFloat).requires_grad_(true);
  ParameterSet set = ParameterSet({{"weight", weight}, {"scale", scale}, {"bias", bias}});
  GradientBufferPool pool = GradientBufferPool(set);

  UserModel() = default;
  UserModel(const UserModel&) = delete;
  UserModel& operator=(const UserModel&) = delete;

  static std::int64_t units(std::int64_t atom) { return atom == 2 ? 0 : 1 + 3 * atom; }
  static at::Tensor rows(std::int64_t atom) {
    const at::Tensor steps = at::arange(units(atom) * 4, at::kDouble).reshape({units(atom), 4});
    return at::cos(steps * (0.13 + 0.05 * static_cast<double>(atom)));
  }
  /// Sum over the rows, by `w`, `s`, `b` of any dtype.
  static at::Tensor loss_sum(const at::Tensor& rows, const at::Tensor& w, const at::Tensor& s, const at::Tensor& b) {
    const at::Tensor hidden = at::tanh(at::matmul(rows.to(w.dtype()), w.t()) + b);
    return (hidden.to(at::kDouble) * s).sum(1).pow(2).sum();
  }
  at::Tensor loss_sum(std::int64_t atom) const { return loss_sum(rows(atom), weight, scale, bias); }

  /// Of all .grad, "" for an undefined one.
  std::vector<std::string> gradient_hashes() const {
    std::vector<std::string> hashes;
    for (const NamedTensor& parameter : set.parameters()) {
      const at::Tensor grad = parameter.tensor.grad();
      hashes.push_back(
          !grad.defined() ? "" : xxh3_128_hex({static_cast<const char*>(grad.const_data_ptr()), grad.nbytes()}));
    }
    return hashes;
  }
};

/// The first atom of a rank.
inline std::int64_t first_atom(const Split& split, int rank) {
  return std::accumulate(split.begin(), split.begin() + rank, std::int64_t{0});
}

inline std::int64_t units_of(const Split& split, int rank) {
  std::int64_t units = 0;
  const std::int64_t first = first_atom(split, rank);
  for (std::int64_t atom = first; atom < first + split[static_cast<std::size_t>(rank)]; ++atom) {
    units += UserModel::units(atom);
  }
  return units;
}

/// Runs `body` on as many rank threads as `split` has; returns what each returned, or its error's line.
inline std::vector<std::string> on_ranks(const Split& split,
                                         const std::function<std::string(Communicator&, UserModel&)>& body) {
  std::vector<std::string> results(split.size());
  std::vector<std::string> errors = run_ranks(static_cast<int>(split.size()), [&](Communicator& comm) {
    UserModel model;
    results[static_cast<std::size_t>(comm.rank())] = body(comm, model);
  });
  for (std::size_t r = 0; r < errors.size(); ++r) {
    if (!errors[r].empty()) results[r] = errors[r];
  }
  return results;
}

}  // namespace samegrad::testing
