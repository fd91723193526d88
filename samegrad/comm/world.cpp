#include "samegrad/comm/world.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace samegrad {

World::World(std::shared_ptr<Communicator> communicator, std::chrono::milliseconds timeout)
    : communicator_(std::move(communicator)), timeout_(timeout) {}

World::World(Communicator& communicator, std::chrono::milliseconds timeout)
    : World(std::shared_ptr<Communicator>(std::shared_ptr<void>(), &communicator), timeout) {}

bool World::any(bool mine) const {
  const std::uint8_t said = mine ? 1 : 0;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(size()));
  communicator_->all_gather(std::as_bytes(std::span(&said, 1)), std::as_writable_bytes(std::span(all)),
                            {"any", 0, timeout_});
  return std::ranges::any_of(all, [](std::uint8_t value) { return value != 0; });
}

void World::barrier() const { communicator_->barrier({"barrier", 0, timeout_}); }

}  // namespace samegrad
