// The gradient of one window by the path that training takes, without a step.
#pragma once

#include <string>

#include "samegrad/comm/communicator.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

struct WindowGradient {
  LossSum loss;
  AlignedBlock gradient;  ///< of S/N, flat, in the parameters' layout and type
};

/// Agreement, each rank's atoms, exchange and division as a training update has them (ddp/window.h), at `parameters`
/// and in their type from the model to the division; dropout is off. The parameters stay as they are. Throws the same
/// error on every rank; a window without supervised units is refused. Collective.
WindowGradient window_gradient(const RunConfig& config, const SampleSource& train, const PlanWindow& window,
                               const std::string& digest, Communicator& comm, FlatParameters& parameters);

}  // namespace samegrad
