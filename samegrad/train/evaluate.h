// Loss over a whole set of samples: sum over sum, each sample once, the same bits for any number of processes.
#pragma once

#include <chrono>
#include <cstdint>

#include "samegrad/comm/communicator.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/model/model.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/objective/objective.h"

namespace samegrad {

struct Evaluation {
  LossSum loss;                       ///< S and N of the objective
  LossSum token_loss;                 ///< over all supervised tokens, each weighing 1
  std::int64_t correct = 0;           ///< supervised tokens whose largest logit is the target's
  std::int64_t majority_correct = 0;  ///< what always answering the most frequent target would get right
  std::int64_t samples = 0;
  std::int64_t input_tokens = 0;
};

/// Batches of `batch_size` samples in id order, spread contiguously over the ranks; losses are summed in double per
/// batch, and the batches' sums by the tree T. `objective` is over the whole set, as one window. Throws the same error
/// on every rank. Collective.
Evaluation evaluate(const Model& model, const SampleSource& source, const Objective& objective, std::int64_t batch_size,
                    Communicator& comm, std::chrono::milliseconds timeout);

}  // namespace samegrad
