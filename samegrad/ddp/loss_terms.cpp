#include "samegrad/ddp/loss_terms.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

#include "samegrad/base/error.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

/// What `term` is divided by over all ranks; 0: it is empty.
LossSum denominator_of(const LossTerm& term, std::int64_t count, double total_weight) {
  if (term.kind == TermKind::kRegularizer) return {.weight = 1.0};
  if (term.constant) return {.weight = *term.constant};
  if (!term.weights) return {.count = count};
  if (std::isfinite(total_weight)) return {.weight = total_weight};
  throw InputError("window",
                   "loss term " + term.name + ": its total weight is above the largest double; scale the weights down");
}

}  // namespace

LossTerms::LossTerms(const std::vector<LossTerm>& terms, const WindowDecision& decision,
                     const std::vector<double>& total_weights)
    : terms_(terms), returned_(terms.size()) {
  for (std::size_t k = 0; k < terms.size(); ++k) {
    losses_.push_back({terms[k].name, denominator_of(terms[k], decision.term_counts.at(k), total_weights.at(k))});
    const double divisor = losses_.back().loss.divisor();
    factors_.push_back(divisor > 0.0 ? loss_sum_factor(GradientReduction::kSum, 1, divisor) : 0.0);
  }
}

bool LossTerms::uses(std::size_t term, std::int64_t atom) const {
  return factors_[term] > 0.0 && (terms_[term].kind != TermKind::kRegularizer || atom == 0);
}

std::string LossTerms::names() const {
  std::string names;
  for (const LossTerm& term : terms_) names += (names.empty() ? "" : ", ") + term.name;
  return names;
}

at::Tensor LossTerms::objective(const std::vector<at::Tensor>& sums, std::int64_t atom) {
  if (sums.size() != terms_.size()) {
    throw InputError("window", "atom " + std::to_string(atom) + ": the callable returned " +
                                   std::to_string(sums.size()) + " sums for the " + std::to_string(terms_.size()) +
                                   " loss terms " + names() +
                                   "; return one for each, in this order, an undefined tensor where the atom has none");
  }
  at::Tensor objective;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (!uses(k, atom)) continue;
    if (!sums[k].defined()) {
      if (terms_[k].kind != TermKind::kRegularizer) continue;
      throw InputError("window", "atom 0: the regularizer " + terms_[k].name +
                                     " is undefined; it is taken from this atom alone, so return it here");
    }
    returned_[k] = true;
    const at::Tensor scaled = terms_[k].kind == TermKind::kRegularizer ? sums[k] : sums[k] * factors_[k];
    objective = objective.defined() ? objective + scaled : scaled;
  }
  return objective;
}

std::string LossTerms::missing_sums() const {
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    if (!returned_[k] && terms_[k].count.value() > 0) {
      return "loss term " + terms_[k].name + " has a count of " + std::to_string(terms_[k].count.value()) +
             ", and no atom returned a sum of it; count the units of the same atoms";
    }
  }
  return "";
}

void LossTerms::finish(const std::vector<double>& sums) {
  for (std::size_t k = 0; k < sums.size(); ++k) losses_[k].loss.sum = sums[k];
}

LossSum LossTerms::total() const {
  LossSum total{.weight = 1.0};
  for (std::size_t k = 0; k < losses_.size(); ++k) {
    total.sum += terms_[k].kind == TermKind::kRegularizer ? losses_[k].loss.sum : losses_[k].loss.sum * factors_[k];
  }
  return total;
}

}  // namespace samegrad
