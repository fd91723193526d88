// The gradient of one window in every way that `evaluate` puts beside the reference: the right one as training computes
// it on all ranks, the lesson's own form, and the controls that must be rejected.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "samegrad/comm/communicator.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/plan/update_plan.h"
#include "samegrad/train/control_gradients.h"
#include "samegrad/train/train_state.h"

namespace samegrad {

/// Flat gradients (layout of the parameters).
struct WindowCheck {
  LossSum loss;
  std::vector<float> exact;        ///< by Window on all ranks: what a training update uses
  std::vector<float> lesson_form;  ///< W * S_r / N on each rank, then the mean over ranks, as under a mean-reducing DDP
  std::vector<ControlGradient> controls;
};

/// Computes all of it at the parameters of `state`, which stay as they are. Dropout is off. Throws the same error on
/// every rank. Collective.
WindowCheck check_window(const RunConfig& config, const SampleSource& train, const PlanWindow& window,
                         const std::string& digest, Communicator& comm, TrainState& state);

/// What happened when all ranks brought a window without supervised units under the policy `error`.
struct EmptyWindowCheck {
  std::int64_t ranks_refused = 0;  ///< ranks that refused it for its count, with the line of rank 0
  bool parameters_untouched = false;
  std::string message;
};

/// Collective.
EmptyWindowCheck check_empty_window(const RunConfig& config, const std::string& digest, Communicator& comm,
                                    TrainState& state);

}  // namespace samegrad
