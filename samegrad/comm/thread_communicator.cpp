#include "samegrad/comm/thread_communicator.h"

#include "samegrad/base/check.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_region.h"

namespace samegrad {

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int world_size, std::size_t slot_bytes) {
  SAMEGRAD_CHECK_OP(slot_bytes, >=, static_cast<std::size_t>(world_size) * 64);
  const auto region = std::make_shared<ShmRegion>(ShmRegion::for_threads(world_size, slot_bytes));
  std::vector<std::unique_ptr<Communicator>> ranks;
  ranks.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.push_back(std::make_unique<ShmCommunicator>(region, rank));
  }
  return ranks;
}

}  // namespace samegrad
