// What a run carries from update to update: parameters, optimizer state, counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/model/parameter_spec.h"
#include "samegrad/plan/sampler_history.h"
#include "samegrad/train/hash_chain.h"
#include "samegrad/train/optimizer.h"

namespace samegrad {

struct TrainState {
  std::int64_t update = 0;                ///< windows passed, trained or skipped
  std::int64_t skipped_windows = 0;       ///< N = 0 under empty_window: skip
  std::int64_t skipped_non_finite = 0;    ///< gradients under non_finite: skip
  std::vector<SamplerHistory> histories;  ///< by virtual rank
  std::string hash_chain{kFirstLink};     ///< after `update` (train/hash_chain.h)
  FlatParameters parameters;
  std::unique_ptr<Optimizer> optimizer;
};

/// The specs of a model as the ddp layer names them. Local.
std::vector<NamedShape> named_shapes(const std::vector<ParameterSpec>& specs);

/// Update 0: initial weights from the seed (model/parameter_spec.h), fresh optimizer. Local.
TrainState initial_state(const RunConfig& config);

}  // namespace samegrad
