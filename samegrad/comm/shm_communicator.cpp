#include "samegrad/comm/shm_communicator.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>

#include "samegrad/base/check.h"
#include "samegrad/base/deadline.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/peer_messages.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// Longest sleep between two looks at whether the missing peers live.
constexpr milliseconds kSlice{50};
/// About 20 microseconds of looking before sleeping: most peers arrive within that, and a sleep costs more.
constexpr int kSpins = 500;

// Spinning takes the core from the rank one waits for, unless each has its own.
int spins_for(int ranks) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  return known && ranks <= CPU_COUNT(&allowed) ? kSpins : 0;
}

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t while_equal, milliseconds at_most) {
  const timespec time{at_most.count() / 1000, at_most.count() % 1000 * 1'000'000};
  // Woken, timed out, interrupted or already changed: the caller looks again in every case.
  syscall(SYS_futex, &word, FUTEX_WAIT, while_equal, &time, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

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

ShmCommunicator::ShmCommunicator(std::shared_ptr<ShmRegion> region, int rank)
    : region_(std::move(region)),
      rank_(rank),
      watches_(static_cast<std::size_t>(region_->world_size())),
      spins_(spins_for(region_->world_size())),
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
  ShmRankRecord& record = region_->record(rank_);
  std::array<char, 512> text{};
  std::copy_n(reason.begin(), std::min(reason.size(), text.size() - 1), text.begin());
  record.reason.store(text);
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
  run(plan, label);
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
  run(plan, label);
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
  run(plan, label);
}

void ShmCommunicator::barrier(const CallLabel& label) {
  Plan plan;
  plan.call = record_call(CallOperation::kBarrier, 0, 0, label);
  plan.step = region_->slot_bytes();
  plan.write = [](std::byte*, std::size_t, std::size_t) {};
  plan.read = [](int, const std::byte*, std::size_t, std::size_t) {};
  run(plan, label);
}

void ShmCommunicator::run(const Plan& plan, const CallLabel& label) {
  if (broken_) {
    std::rethrow_exception(broken_);
  }
  try {
    std::size_t offset = 0;
    do {  // an empty message is one empty chunk: every call is a meeting
      const std::size_t count = std::min(plan.step, plan.bytes - offset);
      const std::uint32_t slot = published_ % 2;
      plan.write(region_->outbox(rank_, slot), offset, count);
      publish(plan.call);
      wait_for_all(label);
      if (offset == 0) {
        throw_if_calls_differ();
      }
      for (int peer = 0; peer < size(); ++peer) {
        if (peer != rank_) {
          plan.read(peer, region_->outbox(peer, slot), offset, count);
        }
      }
      offset += count;
    } while (offset < plan.bytes);
  } catch (const std::exception& error) {
    broken_ = std::current_exception();
    broken_reason_ = error.what();
    throw;
  }
}

void ShmCommunicator::publish(const CallRecord& call) {
  ShmRankRecord& mine = region_->record(rank_);
  mine.calls[published_ % 2].store(call);
  mine.published.store(++published_, std::memory_order_release);
  futex_wake_all(mine.published);
}

// The difference is taken modulo 2^32; ranks are never more than one chunk apart.
bool ShmCommunicator::arrived(int peer) const {
  const std::uint32_t theirs = region_->record(peer).published.load(std::memory_order_acquire);
  return static_cast<std::int32_t>(theirs - published_) >= 0;
}

int ShmCommunicator::first_missing() const {
  int peer = 0;
  while (peer < size() && arrived(peer)) {
    ++peer;
  }
  return peer;
}

// The only place where a rank waits for others.
void ShmCommunicator::wait_for_all(const CallLabel& label) {
  for (int spin = 0; spin < spins_; ++spin) {
    if (first_missing() == size()) {
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  const Deadline deadline(label.timeout);
  for (int missing = first_missing(); missing < size(); missing = first_missing()) {
    for (int peer = missing; peer < size(); ++peer) {
      throw_if_peer_is_gone(peer, label);
    }
    if (deadline.passed()) {
      throw_late(label);
    }
    const std::atomic<std::uint32_t>& word = region_->record(missing).published;
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(seen - published_) < 0) {
      futex_wait(word, seen, std::min(kSlice, deadline.left() + milliseconds{1}));
    }
  }
}

// A peer may publish and end right away: it is gone only where it had not arrived before.
void ShmCommunicator::throw_if_peer_is_gone(int peer, const CallLabel& label) {
  if (arrived(peer)) {
    return;
  }
  const ShmRankRecord& record = region_->record(peer);
  switch (record.state.load(std::memory_order_acquire)) {
    case ShmRankState::kAbsent:
    case ShmRankState::kJoining:
      return;
    case ShmRankState::kJoined:
      if (process_ended(peer) && !arrived(peer)) {
        throw PeerError("comm", message_died(missing_peer(peer), label), peer);
      }
      return;
    case ShmRankState::kLeft:
      if (!arrived(peer)) {
        throw PeerError("comm", message_left(missing_peer(peer), label), peer);
      }
      return;
    case ShmRankState::kFailed:
      if (!arrived(peer)) {
        throw PeerError("comm", message_failed(missing_peer(peer), label, record.reason.load().data()), peer);
      }
      return;
  }
}

bool ShmCommunicator::process_ended(int peer) {
  const ShmRankRecord& record = region_->record(peer);
  const int pid = record.pid.load();
  if (pid == getpid()) {  // a thread of this process
    return false;
  }
  std::optional<ProcessWatch>& watch = watches_[static_cast<std::size_t>(peer)];
  if (!watch) {
    watch.emplace(pid, record.start_time.load());
  }
  return watch->ended();
}

void ShmCommunicator::throw_late(const CallLabel& label) const {
  std::vector<MissingPeer> late;
  for (int peer = 0; peer < size(); ++peer) {
    if (!arrived(peer)) {
      late.push_back(missing_peer(peer));
    }
  }
  if (!late.empty()) {
    throw PeerError("comm", message_late(late, label), late.front().rank);
  }
}

MissingPeer ShmCommunicator::missing_peer(int peer) const {
  const ShmRankRecord& record = region_->record(peer);
  const std::uint32_t published = record.published.load(std::memory_order_acquire);
  MissingPeer missing;
  missing.rank = peer;
  if (record.state.load(std::memory_order_acquire) >= ShmRankState::kJoined) {
    missing.pid = record.pid.load();
    missing.stopped = process_is_stopped(missing.pid);
  }
  missing.last_call = record.calls[(published + 1) % 2].load();
  return missing;
}

void ShmCommunicator::throw_if_calls_differ() const {
  const std::uint32_t slot = (published_ + 1) % 2;
  const CallRecord first = region_->record(0).calls[slot].load();
  for (int peer = 1; peer < size(); ++peer) {
    const CallRecord other = region_->record(peer).calls[slot].load();
    if (!same_call(first, other)) {
      throw RunError("comm", message_different_calls(first, peer, other));
    }
  }
}

}  // namespace samegrad
