#include "samegrad/comm/single_communicator.h"
#include "tests/multiproc/worker_communicator.h"

namespace samegrad {

std::unique_ptr<Communicator> worker_communicator(const WorkerEnvironment& environment) {
  if (environment.world_size == 1) {
    return std::make_unique<SingleCommunicator>();
  }
  return join_shared_memory(environment.shared_memory_fd, environment.rank, environment.world_size,
                            std::chrono::minutes(10));
}

}  // namespace samegrad
