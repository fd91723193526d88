// The terms of one window's loss after the agreement: by what each is multiplied before backward, and what each came
// to.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/comm/agreement.h"
#include "samegrad/ddp/loss_term.h"

namespace samegrad {

class LossTerms {
 public:
  /// `total_weights` by term, those of terms without weights are not looked at. InputError, on every rank, for one that
  /// is not finite. Local.
  LossTerms(const std::vector<LossTerm>& terms, const WindowDecision& decision,
            const std::vector<double>& total_weights);

  std::size_t size() const { return terms_.size(); }
  /// Whether an atom's sum of term `term` is used: not of a term that was dropped, nor of a regulariser after atom 0.
  bool uses(std::size_t term, std::int64_t atom) const;
  /// The sums of atom `atom` times their factors, added in the order of the terms; undefined where there are none.
  /// InputError for a number of sums other than that of the terms, and for a regulariser that is undefined in atom 0.
  at::Tensor objective(const std::vector<at::Tensor>& sums, std::int64_t atom);
  /// "" or which term this rank brought units of, though no atom returned its sum. Local.
  std::string missing_sums() const;
  /// Sets what the terms came to, from T of their sums over all atoms. Local.
  void finish(const std::vector<double>& sums);

  /// After finish(). Local.
  const std::vector<TermLoss>& losses() const { return losses_; }
  /// The objective: the sum over terms of S_k / N_k, as (sum, N = 1). Local.
  LossSum total() const;

 private:
  std::string names() const;

  std::vector<LossTerm> terms_;
  std::vector<double> factors_;  // 0: dropped
  std::vector<bool> returned_;   // by an atom of this rank
  std::vector<TermLoss> losses_;
};

}  // namespace samegrad
