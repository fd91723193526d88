// A window's gradient with each well-known mistake in it: what a check of the gradient must reject.
#pragma once

#include <string>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/objective/controls.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

struct ControlGradient {
  Control control = Control::kMeanOfMeans;
  std::string cannot_show;      ///< why this control is the right gradient on this window; "": it is another one
  std::vector<float> gradient;  ///< flat, in the parameters' layout; empty where it cannot show
};

/// Every control of objective/controls.h at `parameters` (float32): the atoms' gradients by the model, one after
/// another in this process, weighed as the mistake would on as many processes as virtual ranks. Dropout is off.
/// Requires a supervised unit. Local.
std::vector<ControlGradient> control_gradients(const RunConfig& config, const SampleSource& train,
                                               const PlanWindow& window, const FlatParameters& parameters);

}  // namespace samegrad
