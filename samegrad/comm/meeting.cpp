#include "samegrad/comm/meeting.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/peer_messages.h"
#include "samegrad/comm/peer_story.h"
#include "samegrad/comm/rank_end.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSlice{200};
constexpr const char* kShared = "shared";

std::string facts_key(int rank) { return "rank/" + std::to_string(rank); }
std::string reached_key(int rank) { return "memory/reached/" + std::to_string(rank); }

/// A descriptor of the memory that rank 0 holds open under `path`; throws RunError.
int open_memory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    throw RunError("launch", path + ": " + std::strerror(errno));
  }
  return fd;
}

/// kShared, or why not. On success `fd` is the memory.
std::string tried(int& fd, const std::function<int()>& open_one) {
  try {
    fd = open_one();
    return kShared;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

Meeting::Meeting(RendezvousStore& store, int rank, int world_size, std::chrono::milliseconds timeout)
    : store_(&store), rank_(rank), world_size_(world_size), timeout_(timeout), deadline_(timeout) {}

std::string Meeting::await(const std::string& key, int from) const {
  for (;;) {
    if (std::optional<std::string> value = store_->get(key, std::min(kSlice, deadline_.left() + milliseconds{1}))) {
      return *std::move(value);
    }
    if (const std::optional<std::string> told = store_->get(kStoryKey, milliseconds{0})) {
      throw_story(story_from_text(*told), rank_, "launch");
    }
    MissingPeer missing;
    missing.rank = from;
    const CallLabel label{"join", 0, timeout_};
    if (deadline_.passed()) {
      throw PeerError("launch", message_late(std::span(&missing, 1), {}, label), from);
    }
  }
}

std::vector<RankFacts> Meeting::exchange_facts(const RankFacts& mine) {
  store_->set(facts_key(rank_), rank_facts_to_line(mine));
  std::vector<RankFacts> ranks;
  ranks.reserve(static_cast<std::size_t>(world_size_));
  for (int rank = 0; rank < world_size_; ++rank) {
    ranks.push_back(rank_facts_from_line(await(facts_key(rank), rank)));
  }
  if (const RankFacts& there = ranks[static_cast<std::size_t>(rank_)]; !(there == mine)) {
    throw InputError("launch", "rank " + std::to_string(rank_) + " has joined this run already (pid " +
                                   std::to_string(there.pid) + " on " + there.host_name +
                                   "): every process needs a rank of its own");
  }
  return ranks;
}

bool Meeting::has_come(int rank) const { return store_->get(facts_key(rank), milliseconds{0}).has_value(); }

Meeting::SharedMemory Meeting::share_memory(const std::vector<RankFacts>& ranks, std::shared_ptr<StatusWriter> status) {
  int fd = -1;
  const bool makes = rank_ == 0;
  std::string outcome;
  if (makes) {
    outcome = tried(fd, [&] { return create_shared_memory(world_size_); });
    store_->set("memory/fd", outcome == kShared ? std::to_string(fd) : "");
  } else if (const std::string number = await("memory/fd", 0); !number.empty()) {
    const std::string path = "/proc/" + std::to_string(ranks.front().pid) + "/fd/" + number;
    outcome = tried(fd, [&] { return open_memory(path); });
  }
  store_->set(reached_key(rank_), outcome);
  // Rank 0 decides, since all know its word or none does.
  if (makes) {
    for (int rank = 1; rank < world_size_; ++rank) {
      const std::string theirs = await(reached_key(rank), rank);
      outcome = outcome == kShared ? theirs : outcome;
    }
    store_->set("memory/outcome", outcome);
  }
  outcome = await("memory/outcome", 0);
  if (outcome == kShared) {
    return {join_shared_memory(fd, rank_, world_size_, deadline_.left(), std::move(status)), ""};
  }
  if (fd >= 0) {
    close(fd);
  }
  return {nullptr, outcome};
}

}  // namespace samegrad
