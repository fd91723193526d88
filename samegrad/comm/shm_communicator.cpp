#include "samegrad/comm/shm_communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/shm_futex.h"

namespace samegrad {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

/// `bytes` are moved in pieces of `step`; `write` fills this rank's slot with one piece, `read` takes it from a peer's.
struct ShmCommunicator::Plan {
  CallRecord call;
  std::size_t bytes = 0;
  std::size_t step = 0;
  std::function<void(std::byte* slot, std::size_t offset, std::size_t count)> write;
  std::function<void(int peer, const std::byte* slot, std::size_t offset, std::size_t count)> read;
};

ShmCommunicator::ShmCommunicator(std::shared_ptr<ShmRegion> region, int rank, std::shared_ptr<StatusWriter> status)
    : region_(std::move(region)),
      rank_(rank),
      status_(std::move(status)),
      arena_(std::make_shared<ShmArena>(region_, rank)),
      posted_(static_cast<std::size_t>(region_->world_size())),
      watches_(static_cast<std::size_t>(region_->world_size())),
      most_spins_(spins_for(region_->world_size())),
      exceptions_at_start_(std::uncaught_exceptions()) {
  SAMEGRAD_CHECK_OP(rank, >=, 0);
  SAMEGRAD_CHECK_OP(rank, <, size());
  ShmRankRecord& record = region_->record(rank);
  ShmRankState expected = ShmRankState::kAbsent;
  if (!record.state.compare_exchange_strong(expected, ShmRankState::kJoining)) {
    throw InputError("comm", "rank " + std::to_string(rank) + " has joined this run already (pid " +
                                 std::to_string(record.pid.load()) + "): every process needs a rank of its own");
  }
  record.pid.store(getpid());
  record.start_time.store(process_start_time(getpid()));
  if (!status_) status_ = std::make_shared<StatusWriter>(rank, size());
  status_->place_in_memory(record.status);
  record.state.store(ShmRankState::kJoined);
}

ShmCommunicator::~ShmCommunicator() {
  const bool failed = broken_ || std::uncaught_exceptions() > exceptions_at_start_;
  end_as(failed ? ShmRankState::kFailed : ShmRankState::kLeft, broken_reason_);
}

void ShmCommunicator::leave(std::string_view reason) {
  if (!broken_) {
    broken_ = std::make_exception_ptr(RunError("comm", message_has_left(rank_, reason)));
  }
  end_as(ShmRankState::kFailed, reason);
}

void ShmCommunicator::end_as(ShmRankState state, std::string_view reason) {
  if (ended_) {
    return;
  }
  ended_ = true;
  if (state == ShmRankState::kFailed) arena_->close();
  ShmRankRecord& record = region_->record(rank_);
  std::array<char, 512> text{};
  std::copy_n(reason.begin(), std::min(reason.size(), text.size() - 1), text.begin());
  record.reason.store(text);
  status_->end(state == ShmRankState::kLeft ? RankState::kDone : RankState::kFailed);
  record.state.store(state, std::memory_order_release);
  futex_wake_all(record.published);
}

void ShmCommunicator::all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) {
  const auto ranks = static_cast<std::size_t>(size());
  SAMEGRAD_CHECK_OP(send.size() % ranks, ==, 0U);
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  const std::size_t block = send.size() / ranks;
  const std::size_t own = static_cast<std::size_t>(rank_) * block;
  copy_bytes(recv.data() + own, send.data() + own, block);
  Plan plan;
  plan.call = record_call(CallOperation::kAllToAll, 0, send.size(), label);
  plan.bytes = block;
  plan.step = region_->slot_bytes() / ranks / 64 * 64;
  plan.write = [&](std::byte* slot, std::size_t offset, std::size_t count) {
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      if (peer != static_cast<std::size_t>(rank_)) {
        copy_bytes(slot + peer * plan.step, send.data() + peer * block + offset, count);
      }
    }
  };
  plan.read = [&](int peer, const std::byte* slot, std::size_t offset, std::size_t count) {
    copy_bytes(recv.data() + static_cast<std::size_t>(peer) * block + offset,
               slot + static_cast<std::size_t>(rank_) * plan.step, count);
  };
  move(plan, label);
}

void ShmCommunicator::all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) {
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size() * static_cast<std::size_t>(size()));
  copy_bytes(recv.data() + static_cast<std::size_t>(rank_) * send.size(), send.data(), send.size());
  Plan plan;
  plan.call = record_call(CallOperation::kAllGather, 0, send.size(), label);
  plan.bytes = send.size();
  plan.step = region_->slot_bytes();
  plan.write = [&](std::byte* slot, std::size_t offset, std::size_t count) {
    copy_bytes(slot, send.data() + offset, count);
  };
  plan.read = [&](int peer, const std::byte* slot, std::size_t offset, std::size_t count) {
    copy_bytes(recv.data() + static_cast<std::size_t>(peer) * send.size() + offset, slot, count);
  };
  move(plan, label);
}

void ShmCommunicator::broadcast(std::span<std::byte> data, int root, const CallLabel& label) {
  SAMEGRAD_CHECK_OP(root, >=, 0);
  SAMEGRAD_CHECK_OP(root, <, size());
  Plan plan;
  plan.call = record_call(CallOperation::kBroadcast, root, data.size(), label);
  plan.bytes = data.size();
  plan.step = region_->slot_bytes();
  plan.write = [&](std::byte* slot, std::size_t offset, std::size_t count) {
    if (rank_ == root) {
      copy_bytes(slot, data.data() + offset, count);
    }
  };
  plan.read = [&](int peer, const std::byte* slot, std::size_t offset, std::size_t count) {
    if (peer == root) {
      copy_bytes(data.data() + offset, slot, count);
    }
  };
  move(plan, label);
}

void ShmCommunicator::barrier(const CallLabel& label) {
  Plan plan;
  plan.call = record_call(CallOperation::kBarrier, 0, 0, label);
  plan.step = region_->slot_bytes();
  plan.write = [](std::byte*, std::size_t, std::size_t) {};
  plan.read = [](int, const std::byte*, std::size_t, std::size_t) {};
  move(plan, label);
}

void ShmCommunicator::move(const Plan& plan, const CallLabel& label) {
  run(plan.call, [&](const CallRecord& call) {
    std::size_t offset = 0;
    do {  // an empty message is one empty chunk: every call is a meeting
      const std::size_t count = std::min(plan.step, plan.bytes - offset);
      const std::uint32_t slot = published_ % 2;
      plan.write(region_->outbox(rank_, slot), offset, count);
      meet(call, label, /*begins_call=*/offset == 0);
      for (int peer = 0; peer < size(); ++peer) {
        if (peer != rank_) {
          plan.read(peer, region_->outbox(peer, slot), offset, count);
        }
      }
      offset += count;
    } while (offset < plan.bytes);
  });
}

void ShmCommunicator::run(CallRecord call, const std::function<void(const CallRecord& call)>& move_all) {
  if (broken_) {
    std::rethrow_exception(broken_);
  }
  call.number = ++calls_;
  try {
    throw_if_told();
    move_all(call);
  } catch (const std::exception& error) {
    broken_ = std::current_exception();
    broken_reason_ = error.what();
    arena_->close();
    status_->end(RankState::kFailed);
    throw;
  }
  status_->leave();
}

void ShmCommunicator::meet(const CallRecord& call, const CallLabel& label, bool begins_call) {
  publish(call, begins_call);
  if (begins_call) status_->enter(call);  // while the others learn of it
  wait_for_all(label, begins_call);
}

// A rank that sleeps says so before it looks at the word again, and this one looks for sleepers after it has changed
// it: one of the two sees the other.
void ShmCommunicator::publish(const CallRecord& call, bool begins_call) {
  ShmRankRecord& mine = region_->record(rank_);
  mine.calls[published_ % 2].store(call);
  if (begins_call) mine.call_marks[published_ % 2].store(call_mark(call), std::memory_order_relaxed);
  // Asked for while the store below, which takes as long, is on its way.
  for (int peer = 0; peer < size(); ++peer) __builtin_prefetch(&region_->record(peer).published);
  mine.published.store(++published_, std::memory_order_seq_cst);
  if (mine.sleepers.load(std::memory_order_seq_cst) > 0) futex_wake_all(mine.published);
}

}  // namespace samegrad
