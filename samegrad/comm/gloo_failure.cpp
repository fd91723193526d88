// What a rank over Gloo says of a call that failed. Gloo itself names no rank: records, processes and the store do.
#include <algorithm>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/comm/c10d_store.h"
#include "samegrad/comm/gloo_communicator.h"
#include "samegrad/comm/rank_end.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// A peer whose connection closes has said why before, or it says it now, or never.
constexpr milliseconds kLastWords{2'000};
constexpr milliseconds kSlice{50};
/// The store answers within this, or not at all: its keeper may be the rank that is stopped.
constexpr milliseconds kStoreAnswers{500};

}  // namespace

void GlooCommunicator::throw_late(const std::vector<int>& late, const CallLabel& label) {
  std::vector<MissingPeer> missing;
  std::vector<int> waiting;
  for (int peer = 0; peer < size(); ++peer) {
    if (std::ranges::find(late, peer) != late.end()) {
      missing.push_back(missing_peer(peer));
    } else {
      waiting.push_back(peer);
    }
  }
  tell({likely_culprit(missing), message_late(missing, waiting, label)});
}

void GlooCommunicator::throw_closed(int peer, const CallLabel& label) {
  tell(story_of_gone(peer, last_words(peer, Deadline(kLastWords)), label));
}

PeerStory GlooCommunicator::story_of_gone(int peer, std::string_view words, const CallLabel& label) const {
  const MissingPeer missing = missing_peer(peer);
  const std::size_t line = std::min(words.find('\n'), words.size());
  if (words.substr(0, line) == kRankLeft) {
    return {peer, message_left(missing, label)};
  }
  if (!words.empty()) {
    return {peer, message_failed(missing, label, words.substr(std::min(line + 1, words.size())))};
  }
  if (process_ended(peer)) {
    return {peer, message_died(missing, label)};
  }
  return {peer, message_lost(missing, ranks_[static_cast<std::size_t>(peer)].host_name, label)};
}

// All ranks have come to the call, then one fell out; of those on this host it can be seen which.
void GlooCommunicator::throw_native_failure(const std::string& what, const CallLabel& label, const Deadline& deadline) {
  std::vector<int> stopped;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_ && process_ended(peer)) throw_closed(peer, label);
    if (is_stopped(missing_peer(peer))) stopped.push_back(peer);
  }
  if (deadline.passed() && !stopped.empty()) throw_late(stopped, label);
  tell({-1, "Gloo's all-reduce of '" + std::string(label.name) +
                "' failed and names no rank: " + what.substr(0, what.find('\n'))});
}

// On the watch's thread, while this rank waits: has another rank told why the call cannot succeed? Does the record of
// one say that it waits in another call, or has ended before this one? The messages themselves come in the order of
// ranks.
bool GlooCommunicator::must_stop_waiting() {
  try {
    if (const std::optional<std::string> told = store_->look(kStoryKey, kStoreAnswers)) {
      seen_ = story_from_text(*told);
    }
    for (int peer = 0; peer < size() && !seen_; ++peer) seen_ = story_by_record(peer);
  } catch (const std::exception&) {
    // The deadline ends the wait.
  }
  return seen_.has_value();
}

std::optional<PeerStory> GlooCommunicator::story_by_record(int peer) {
  const CallRecord& mine = calls_[static_cast<std::size_t>(rank_)];
  const std::optional<RankStatus> status = status_of(peer);
  if (!status) return std::nullopt;
  const CallRecord& theirs = status->call;
  if (status->state == RankState::kWaiting && theirs.number == mine.number && !same_call(theirs, mine)) {
    return PeerStory{-1, peer < rank_ ? message_different_calls(peer, theirs, rank_, mine)
                                      : message_different_calls(rank_, mine, peer, theirs)};
  }
  const bool has_come = static_cast<std::int32_t>(theirs.number - mine.number) >= 0;
  const bool left = status->state == RankState::kDone || status->state == RankState::kFailed;
  const bool ended = process_ended(peer);  // before its words are looked for: afterwards there are no more
  if (has_come || (!left && !ended)) return std::nullopt;
  const std::string words = store_->look(end_key(peer), kStoreAnswers).value_or("");
  if (words.empty() && !ended) return std::nullopt;  // it is about to say why
  return story_of_gone(peer, words, *label_);
}

void GlooCommunicator::throw_seen() { tell(*seen_); }

void GlooCommunicator::tell(PeerStory story) {
  story.text.resize(std::min(story.text.size(), kLongestStory));
  try {
    story = story_from_text(store_->set_once(kStoryKey, story_to_text(story), kStoreAnswers));
  } catch (const std::exception&) {
    // Without the store every rank tells its own.
  }
  throw_story(story, rank_);
}

MissingPeer GlooCommunicator::missing_peer(int peer) const {
  const auto index = static_cast<std::size_t>(peer);
  MissingPeer missing;
  missing.rank = peer;
  missing.pid = ranks_[index].pid;
  missing.last_call = calls_[index];
  if (watches_[index] && !watches_[index]->ended()) missing.process_state = process_state(missing.pid);
  missing.status = status_of(peer);
  return missing;
}

std::optional<RankStatus> GlooCommunicator::status_of(int rank) const {
  const std::optional<PeerRecord>& record = records_[static_cast<std::size_t>(rank)];
  return record ? record->read() : std::nullopt;
}

// What the peer wrote when it ended; waits a little, for Gloo may have closed the connection before.
std::string GlooCommunicator::last_words(int peer, const Deadline& deadline) const {
  try {
    bool ended = false;
    while (!ended && !deadline.passed()) {
      ended = process_ended(peer);
      if (const std::optional<std::string> words = store_->get(end_key(peer), ended ? milliseconds{0} : kSlice)) {
        return *words;
      }
    }
  } catch (const RunError&) {
    // The store is gone, perhaps with the peer.
  }
  return "";
}

// The others look in the store for why and how this rank ended.
void GlooCommunicator::wait_for_ends() const {
  const Deadline deadline(kLastWords);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_) last_words(peer, deadline);
  }
}

bool GlooCommunicator::process_ended(int peer) const {
  const std::optional<ProcessWatch>& watch = watches_[static_cast<std::size_t>(peer)];
  return watch && watch->ended();
}

}  // namespace samegrad
