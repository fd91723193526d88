#include "samegrad/comm/single_communicator.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/peer_messages.h"

namespace samegrad {

SingleCommunicator::SingleCommunicator(std::shared_ptr<StatusWriter> status)
    : status_(std::move(status)), exceptions_at_start_(std::uncaught_exceptions()) {}

SingleCommunicator::~SingleCommunicator() {
  status_->end(std::uncaught_exceptions() > exceptions_at_start_ ? RankState::kFailed : RankState::kDone);
}

void SingleCommunicator::note(CallOperation operation, std::size_t bytes, const CallLabel& label) {
  status_->enter(record_call(operation, 0, bytes, label));
  status_->leave();
}

void SingleCommunicator::all_to_all(std::span<const std::byte> send, std::span<std::byte> recv,
                                    const CallLabel& label) {
  throw_if_left();
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  note(CallOperation::kAllToAll, send.size(), label);
  std::ranges::copy(send, recv.begin());
}

void SingleCommunicator::all_gather(std::span<const std::byte> send, std::span<std::byte> recv,
                                    const CallLabel& label) {
  throw_if_left();
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  note(CallOperation::kAllGather, send.size(), label);
  std::ranges::copy(send, recv.begin());
}

void SingleCommunicator::broadcast(std::span<std::byte> data, int root, const CallLabel& label) {
  throw_if_left();
  SAMEGRAD_CHECK_OP(root, ==, 0);
  note(CallOperation::kBroadcast, data.size(), label);
}

void SingleCommunicator::barrier(const CallLabel& label) {
  throw_if_left();
  note(CallOperation::kBarrier, 0, label);
}

void SingleCommunicator::leave(std::string_view reason) {
  if (!left_) {
    left_ = std::make_exception_ptr(RunError("comm", message_has_left(rank(), reason)));
  }
  status_->end(RankState::kFailed);
}

void SingleCommunicator::throw_if_left() const {
  if (left_) {
    std::rethrow_exception(left_);
  }
}

}  // namespace samegrad
