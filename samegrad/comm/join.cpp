#include "samegrad/comm/join.h"

#include <algorithm>
#include <utility>

#include "samegrad/base/deadline.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/c10d_store.h"
#include "samegrad/comm/gloo_communicator.h"
#include "samegrad/comm/meeting.h"
#include "samegrad/comm/peer_story.h"
#include "samegrad/comm/process_watch.h"
#include "samegrad/comm/rank_end.h"
#include "samegrad/comm/single_communicator.h"
#include "samegrad/comm/store_file.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// The store answers within this, or its keeper has gone or is stopped.
constexpr milliseconds kStoreAnswers{500};
/// Ranks that have come read within this what became of the meeting, or not at all.
constexpr milliseconds kOthersRead{5'000};

std::string joined_text(const WorkerEnvironment& environment) {
  return "joined " + environment.launcher + ": " + std::to_string(environment.world_size) + " ranks";
}

/// A file may be left over from ranks that were killed while they met in it.
void refuse_ended(const std::vector<RankFacts>& ranks, const RankFacts& mine, const std::string& path) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankFacts& facts = ranks[rank];
    if (facts.host == mine.host && ProcessWatch(facts.pid, facts.start_time).ended()) {
      throw RunError("launch", "rank " + std::to_string(rank) + " (pid " + std::to_string(facts.pid) + ") came to " +
                                   path + " and has ended; where it belongs to an earlier run, remove the file");
    }
  }
}

/// The record of this process, in the folder that its launcher gave, if any.
std::shared_ptr<StatusWriter> status_of(const WorkerEnvironment& environment) {
  auto status = std::make_shared<StatusWriter>(environment.rank, environment.world_size);
  const std::optional<std::string> folder = process_environment(kStatusFolderVariable);
  if (folder && !folder->empty()) status->place_in_folder(*folder);
  return status;
}

/// Why this rank, `rank`, leaves the meeting, for those that still wait in it.
PeerStory story_of(const std::exception& error, int rank) {
  if (const auto* const of_peer = dynamic_cast<const PeerError*>(&error)) {
    const std::string_view line = error.what();
    return {of_peer->culprit_rank(), std::string(line.substr(std::min(line.find(' '), line.size() - 1) + 1))};
  }
  return {rank, "rank " + std::to_string(rank) + " failed while the ranks joined: " + error.what()};
}

/// Nobody waits in vain for this rank, and the store does not go before the others know.
void leave_meeting(C10dStore& store, const Meeting& meeting, const WorkerEnvironment& environment,
                   const std::exception& error) {
  try {
    store.set_once(kStoryKey, story_to_text(story_of(error, environment.rank)), kStoreAnswers);
    store.set(end_key(environment.rank), std::string(kRankFailed) + "\n" + error.what());
    const Deadline deadline(kOthersRead);
    for (int rank = 0; store.goes_with_this_process() && rank < environment.world_size; ++rank) {
      if (meeting.has_come(rank)) store.get(end_key(rank), deadline.left());
    }
  } catch (const std::exception&) {
    // The store has gone: nothing can be told.
  }
}

JoinedRanks join_in_meeting(Meeting& meeting, const WorkerEnvironment& environment,
                            const std::shared_ptr<C10dStore>& store, const RankFacts& mine,
                            const std::shared_ptr<StatusWriter>& status, const std::string& backend,
                            std::chrono::milliseconds timeout, const std::string& option, StoreFile* file) {
  std::vector<RankFacts> ranks = meeting.exchange_facts(mine);
  if (file != nullptr) {
    refuse_ended(ranks, mine, file->path());
    file->remove_name();
  }
  const int hosts = count_hosts(ranks);
  if (backend == "shm" && hosts > 1) {
    throw InputError("launch", option + ": 'shm', but the ranks run on " + std::to_string(hosts) +
                                   " hosts; allowed are auto and gloo");
  }
  std::string reason = backend == "gloo" ? option + " asks for it" : "they run on " + std::to_string(hosts) + " hosts";
  if (backend != "gloo" && hosts == 1) {
    Meeting::SharedMemory memory = meeting.share_memory(ranks, status);
    if (memory.communicator) {
      return {std::move(memory.communicator), joined_text(environment) + " on this host share memory"};
    }
    if (backend == "shm") {
      throw RunError("launch", option + ": 'shm', but the ranks cannot share memory: " + memory.reason);
    }
    reason = "they cannot share memory: " + memory.reason;
  }
  auto communicator = std::make_unique<GlooCommunicator>(store, environment.rank, std::move(ranks), timeout, status);
  communicator->barrier({"join", 0, timeout});
  return {std::move(communicator), joined_text(environment) + " talk over gloo, because " + reason};
}

JoinedRanks join_in_store(const WorkerEnvironment& environment, const std::shared_ptr<C10dStore>& store, RankFacts mine,
                          const std::shared_ptr<StatusWriter>& status, const std::string& backend,
                          std::chrono::milliseconds timeout, const std::string& option, StoreFile* file = nullptr) {
  mine.status_fd = status->share();
  Meeting meeting(*store, environment.rank, environment.world_size, timeout);
  try {
    return join_in_meeting(meeting, environment, store, mine, status, backend, timeout, option, file);
  } catch (const std::exception& error) {
    leave_meeting(*store, meeting, environment, error);
    throw;
  }
}

}  // namespace

JoinedRanks join_ranks(const WorkerEnvironment& environment, const std::string& backend,
                       std::chrono::milliseconds timeout, const std::string& option) {
  std::shared_ptr<StatusWriter> status = status_of(environment);
  if (environment.world_size == 1) {
    return {std::make_unique<SingleCommunicator>(std::move(status)), ""};
  }
  if (environment.shared_memory_fd >= 0) {
    if (backend == "gloo") {
      throw InputError("launch", option + ": 'gloo' with " + std::string(kSharedMemoryVariable) + "=" +
                                     std::to_string(environment.shared_memory_fd) +
                                     ": the launcher handed over shared memory; give both the same configuration");
    }
    return {join_shared_memory(environment.shared_memory_fd, environment.rank, environment.world_size, timeout,
                               std::move(status)),
            ""};
  }
  RankFacts mine = facts_of_this_process();
  if (environment.store) {
    mine.route = route_to(environment.store->host, environment.store->port);
    const auto store = open_launcher_store(*environment.store, environment.rank, timeout);
    return join_in_store(environment, store, mine, status, backend, timeout, option);
  }
  if (!environment.store_file.empty()) {
    StoreFile file(environment.store_file, /*removes=*/environment.rank == 0);
    const auto store = open_store_file(file, environment.world_size);
    return join_in_store(environment, store, mine, status, backend, timeout, option, &file);
  }
  const auto store = open_store_file(environment.store_fd, environment.world_size);
  return {join_in_store(environment, store, mine, status, "gloo", timeout, option).communicator, ""};
}

}  // namespace samegrad
