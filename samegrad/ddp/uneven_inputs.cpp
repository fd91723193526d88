// DataParallel::join: ranks with unequal numbers of batches.
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/ddp/data_parallel.h"
#include "samegrad/ddp/model_agreement.h"

namespace samegrad {
namespace {

// What a rank says in a round.
constexpr std::uint8_t kHasData = 1;
constexpr std::uint8_t kSynchronizes = 2;
constexpr std::uint8_t kBroadcasts = 4;
constexpr std::uint8_t kDividesByAll = 8;
constexpr std::uint8_t kThrows = 16;

void check_join_options(const std::vector<std::uint8_t>& said) {
  for (std::size_t rank = 1; rank < said.size(); ++rank) {
    const int differ = (said[rank] ^ said[0]) & (kDividesByAll | kThrows);
    if (differ == 0) continue;
    const std::uint8_t option = (differ & kDividesByAll) != 0 ? kDividesByAll : kThrows;
    const auto value = [&](std::size_t r) { return (said[r] & option) != 0 ? "true" : "false"; };
    throw RunError("ddp", std::string("join: ranks differ in ") +
                              (option == kThrows ? "throw_on_early_termination" : "divide_by_initial_world_size") +
                              ": rank 0 has " + value(0) + ", rank " + std::to_string(rank) + " has " + value(rank) +
                              "; give the same JoinOptions on every rank");
  }
}

}  // namespace

DataParallel::JoinRound DataParallel::round_of_join(const JoinRound& mine) {
  const auto code = static_cast<std::uint8_t>((mine.has_data ? kHasData : 0) | (mine.synchronize ? kSynchronizes : 0) |
                                              (mine.buffers ? kBroadcasts : 0) |
                                              (joining_->divide_by_initial_world_size ? kDividesByAll : 0) |
                                              (joining_->throw_on_early_termination ? kThrows : 0));
  std::vector<std::uint8_t> all(static_cast<std::size_t>(world_.size()));
  world_.communicator().all_gather(std::as_bytes(std::span(&code, 1)), std::as_writable_bytes(std::span(all)),
                                   {"join", 0, world_.timeout()});
  check_join_options(all);
  JoinRound round;
  std::int64_t with_data = 0;
  int without = -1;
  for (int rank = world_.size() - 1; rank >= 0; --rank) {
    const std::uint8_t said = all[static_cast<std::size_t>(rank)];
    if ((said & kHasData) == 0) {
      without = rank;
      continue;
    }
    const JoinRound other{
        .has_data = true, .synchronize = (said & kSynchronizes) != 0, .buffers = (said & kBroadcasts) != 0};
    if (with_data++ > 0 && (other.synchronize != round.synchronize || other.buffers != round.buffers)) {
      throw RunError("ddp", "join: ranks " + std::to_string(rank) + " and " + std::to_string(first_with_data_) +
                                " differ in training, evaluation or no_sync at this forward; all ranks with data must "
                                "do the same");
    }
    round = other;
    first_with_data_ = rank;
  }
  if (round.has_data && without >= 0 && joining_->throw_on_early_termination) {
    throw RunError("ddp", "join: rank " + std::to_string(without) +
                              " is out of data, others are not; give all ranks as many batches, or set "
                              "throw_on_early_termination false");
  }
  if (!joining_->divide_by_initial_world_size) reducer_->set_mean_over(with_data);
  return round;
}

void DataParallel::join(const std::function<void()>& loop, const JoinOptions& options) {
  if (joining_ != nullptr) throw InputError("ddp", "join: one inside another; allowed is one at a time");
  if (in_window_) throw InputError("ddp", "join: a window is open; end it with reduce() before join");
  joining_ = &options;
  try {
    loop();
  } catch (const std::exception& error) {
    joining_ = nullptr;
    world_.communicator().leave(error.what());  // the others must not wait for this rank
    throw;
  }
  try {
    for (JoinRound round = round_of_join({}); round.has_data; round = round_of_join({})) {
      if (round.buffers) broadcast_buffers(first_with_data_);
      if (round.synchronize) reducer_->exchange_without_data();
    }
  } catch (...) {
    joining_ = nullptr;
    throw;
  }
  joining_ = nullptr;
  reducer_->set_mean_over(0);
  const int root = std::exchange(first_with_data_, 0);
  broadcast_tensors(world_, parameters_, root, "parameters after join");
  broadcast_buffers(root);
  buffers_differ_ = false;
}

}  // namespace samegrad
