#include "samegrad/comm/single_communicator.h"

#include <algorithm>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/peer_messages.h"

namespace samegrad {

void SingleCommunicator::all_to_all(std::span<const std::byte> send, std::span<std::byte> recv,
                                    const CallLabel& /*label*/) {
  throw_if_left();
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  std::ranges::copy(send, recv.begin());
}

void SingleCommunicator::all_gather(std::span<const std::byte> send, std::span<std::byte> recv,
                                    const CallLabel& /*label*/) {
  throw_if_left();
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  std::ranges::copy(send, recv.begin());
}

void SingleCommunicator::broadcast(std::span<std::byte> /*data*/, int root, const CallLabel& /*label*/) {
  throw_if_left();
  SAMEGRAD_CHECK_OP(root, ==, 0);
}

void SingleCommunicator::barrier(const CallLabel& /*label*/) { throw_if_left(); }

void SingleCommunicator::leave(std::string_view reason) {
  if (!left_) {
    left_ = std::make_exception_ptr(RunError("comm", message_has_left(rank(), reason)));
  }
}

void SingleCommunicator::throw_if_left() const {
  if (left_) {
    std::rethrow_exception(left_);
  }
}

}  // namespace samegrad
