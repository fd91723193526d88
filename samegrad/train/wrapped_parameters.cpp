#include "samegrad/train/wrapped_parameters.h"

#include <chrono>

namespace samegrad {

std::unique_ptr<DataParallel> wrap_parameters(const FlatParameters& parameters, Communicator& comm,
                                              const RunSection& run) {
  // Every rank makes its initial state itself, or reads the same checkpoint; dropout is keyed by the model.
  return std::make_unique<DataParallel>(
      [&parameters] {
        return ModelTensors{parameters.set().parameters(), {}};
      },
      World(comm),
      DistributedDataParallelOptions{.window_seed = std::nullopt,
                                     .init_sync = false,
                                     .check_sync_every = 0,
                                     .timeout = std::chrono::seconds(run.timeout_s)});
}

}  // namespace samegrad
