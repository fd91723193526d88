#include "samegrad/comm/single_communicator.h"

#include <algorithm>

#include "samegrad/base/check.h"

namespace samegrad {

void SingleCommunicator::all_to_all(std::span<const std::byte> send, std::span<std::byte> recv,
                                    const CallLabel& /*label*/) {
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  std::ranges::copy(send, recv.begin());
}

void SingleCommunicator::all_gather(std::span<const std::byte> send, std::span<std::byte> recv,
                                    const CallLabel& /*label*/) {
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  std::ranges::copy(send, recv.begin());
}

void SingleCommunicator::broadcast(std::span<std::byte> /*data*/, int root, const CallLabel& /*label*/) {
  SAMEGRAD_CHECK_OP(root, ==, 0);
}

void SingleCommunicator::barrier(const CallLabel& /*label*/) {}

void SingleCommunicator::leave(std::string_view /*reason*/) {}

}  // namespace samegrad
