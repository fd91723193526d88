#include "samegrad/comm/gradient_memory.h"

namespace samegrad {

std::shared_ptr<GradientMemory> gradient_memory_of(Communicator& comm) {
  auto* const shares = comm.shares_gradient_memory();
  return shares != nullptr ? shares->gradient_memory() : nullptr;
}

}  // namespace samegrad
