// What a run needs of a machine: estimates for people, made before anything is computed.
#pragma once

#include <cstdint>

#include "samegrad/config/run_config.h"

namespace samegrad {

struct RunNeeds {
  std::int64_t parameters = 0;
  std::int64_t memory_of_process = 0;  ///< bytes of one training process, at its largest microbatch
  std::int64_t disk = 0;  ///< bytes of outputs/ and artifacts/ after a stopped, a continuous and a resumed run
};

/// What one save writes, at least: tensors alone.
struct SavedBytes {
  std::int64_t weights = 0;     ///< model.safetensors, a gradient, the final parameters
  std::int64_t checkpoint = 0;  ///< weights and the optimizer's state
};

/// From the sizes in the config. Local.
SavedBytes saved_bytes(const RunConfig& config);

/// Upper estimates from the sizes in the config, torch-free. Local.
RunNeeds run_needs(const RunConfig& config);

}  // namespace samegrad
