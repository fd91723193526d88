// The terms of a loss that has several, each with its own denominator: objective = sum over terms of S_k / N_k.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "samegrad/comm/term_agreement.h"
#include "samegrad/ddp/count.h"
#include "samegrad/objective/loss_sum.h"

namespace samegrad {

enum class TermKind {
  kMean,         ///< divided by N: the units of all ranks, their total weight, or a constant
  kRegularizer,  ///< of the parameters alone: taken once, from atom 0, and not divided
};

/// {.name = "lm", .count = n}. All but `count` and `weights` are the same on all ranks.
struct LossTerm {
  std::string name = {};  ///< at most 31 characters
  Count count = 0;        ///< units of this rank's atoms: N is the sum over ranks
  /// Given, one for each of this rank's atoms: N is their sum over all atoms, by the tree. Costs one small collective
  /// more, before the first backward.
  std::optional<std::vector<double>> weights = std::nullopt;
  std::optional<double> constant = std::nullopt;  ///< given: N is this; above 0
  TermKind kind = TermKind::kMean;
  EmptyTermPolicy empty = EmptyTermPolicy::kError;  ///< where N = 0; a term that is empty on some ranks alone is fine
};

/// What a term came to over all ranks.
struct TermLoss {
  std::string name;
  LossSum loss;  ///< weight: where N is one, and constants; 1 for a regulariser
};

}  // namespace samegrad
