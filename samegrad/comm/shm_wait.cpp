// How a rank waits in shared memory, and what it says of those that do not come.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "samegrad/base/deadline.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_futex.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// Longest sleep between two looks at whether the missing peers live.
constexpr milliseconds kSlice{50};
constexpr int kLeastSpins = 16;
/// A story that is being told is whole within microseconds, or its teller has died.
constexpr milliseconds kTelling{200};

}  // namespace

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

/// Note [How long to spin]
/// A rank that waits looks for about 100 microseconds before it sleeps; most peers arrive within that, and a sleep
/// costs as much. In vain where the peer is far behind, or needs this very core, because something else runs on the
/// other: so each time in vain the next spin is half as long, and where spinning has helped it is as long as ever.
bool ShmCommunicator::spin() {
  int spun = 0;
  bool all_came = first_missing() == size();
  while (!all_came && spun < spins_) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    ++spun;
    all_came = first_missing() == size();
  }
  if (spun > 0) spins_ = all_came ? most_spins_ : std::max(spins_ / 2, std::min(kLeastSpins, most_spins_));
  return all_came;
}

// The only place where a rank waits for others. Where a call begins, its ranks must have called the same.
void ShmCommunicator::wait_for_all(const CallLabel& label, bool begins_call) {
  if (!spin()) sleep_until_all_came(label, begins_call);
  if (begins_call) throw_if_calls_differ();
}

// Apart from the above, where few kilobytes are exchanged in the time of a few looks at the clock.
void ShmCommunicator::sleep_until_all_came(const CallLabel& label, bool begins_call) {
  const Deadline deadline(label.timeout);
  for (int missing = first_missing(); missing < size(); missing = first_missing()) {
    throw_if_told();
    if (begins_call) throw_if_calls_differ();
    for (int peer = missing; peer < size(); ++peer) {
      throw_if_peer_is_gone(peer, label);
    }
    if (deadline.passed()) {
      throw_late(label);
    }
    ShmRankRecord& record = region_->record(missing);
    record.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = record.published.load(std::memory_order_seq_cst);
    if (static_cast<std::int32_t>(seen - published_) < 0) {
      futex_wait(record.published, seen, std::min(kSlice, deadline.left() + milliseconds{1}));
    }
    record.sleepers.fetch_sub(1, std::memory_order_relaxed);
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
        tell({peer, message_died(missing_peer(peer), label)});
      }
      return;
    case ShmRankState::kLeft:
      if (!arrived(peer)) {
        tell({peer, message_left(missing_peer(peer), label)});
      }
      return;
    case ShmRankState::kFailed:
      if (!arrived(peer)) {
        tell({peer, message_failed(missing_peer(peer), label, record.reason.load().data())});
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

void ShmCommunicator::throw_late(const CallLabel& label) {
  std::vector<MissingPeer> late;
  std::vector<int> waiting;
  for (int peer = 0; peer < size(); ++peer) {
    if (arrived(peer)) {
      waiting.push_back(peer);
    } else {
      late.push_back(missing_peer(peer));
    }
  }
  if (!late.empty()) {
    tell({likely_culprit(late), message_late(late, waiting, label)});
  }
}

MissingPeer ShmCommunicator::missing_peer(int peer) const {
  const ShmRankRecord& record = region_->record(peer);
  const std::uint32_t published = record.published.load(std::memory_order_acquire);
  MissingPeer missing;
  missing.rank = peer;
  if (record.state.load(std::memory_order_acquire) >= ShmRankState::kJoined) {
    missing.pid = record.pid.load();
    if (missing.pid != getpid()) missing.process_state = process_state(missing.pid);
    missing.status = read_status_image(record.status, peer).status;
  }
  missing.last_call = record.calls[(published + 1) % 2].load();
  return missing;
}

// Among the ranks that have come so far. All that see the same ranks name the same two.
void ShmCommunicator::throw_if_calls_differ() {
  const std::uint32_t slot = (published_ + 1) % 2;
  const std::uint64_t mark = region_->record(rank_).call_marks[slot].load(std::memory_order_relaxed);
  bool all_same = true;
  for (int peer = 0; peer < size(); ++peer) {
    if (!arrived(peer)) continue;
    all_same = all_same && region_->record(peer).call_marks[slot].load(std::memory_order_relaxed) == mark;
  }
  if (all_same) return;
  int first = 0;
  while (!arrived(first)) ++first;  // this rank has
  const CallRecord call = region_->record(first).calls[slot].load();
  for (int peer = first + 1; peer < size(); ++peer) {
    if (!arrived(peer)) continue;
    if (const CallRecord other = region_->record(peer).calls[slot].load(); !same_call(call, other)) {
      tell({-1, message_different_calls(first, call, peer, other)});
    }
  }
}

void ShmCommunicator::throw_if_told() const {
  const ShmStory& told = region_->story();
  if (told.state.load(std::memory_order_acquire) == ShmStory::kTold) {
    throw_story({told.culprit_rank.load(), told.text.load().data()}, rank_);
  }
}

void ShmCommunicator::tell(PeerStory story) {
  story.text.resize(std::min(story.text.size(), kLongestStory));
  ShmStory& told = region_->story();
  std::uint32_t nothing = ShmStory::kNone;
  if (told.state.compare_exchange_strong(nothing, ShmStory::kBeingTold)) {
    std::array<char, kLongestStory + 1> text{};
    std::ranges::copy(story.text, text.begin());
    told.text.store(text);
    told.culprit_rank.store(story.culprit_rank);
    told.state.store(ShmStory::kTold, std::memory_order_release);
    for (int peer = 0; peer < size(); ++peer) futex_wake_all(region_->record(peer).published);
  }
  const Deadline deadline(kTelling);
  while (!deadline.passed()) {
    throw_if_told();
    std::this_thread::yield();
  }
  throw_story(story, rank_);
}

}  // namespace samegrad
