// Ranks that cannot talk yet meet in a rendezvous store, tell each other where they run, and, on one host, share
// memory that rank 0 makes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/base/deadline.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/comm/rank_facts.h"
#include "samegrad/comm/rendezvous_store.h"

namespace samegrad {

class StatusWriter;

/// A meeting of `world_size` ranks; this process is `rank`.
class Meeting {
 public:
  Meeting(RendezvousStore& store, int rank, int world_size, std::chrono::milliseconds timeout);

  /// Every rank's facts, by rank. Throws PeerError naming the first rank that does not come in time, InputError where
  /// another process came as this rank, the story (comm/peer_story.h) that
  /// another rank has left under kStoryKey, where one has. Collective.
  std::vector<RankFacts> exchange_facts(const RankFacts& mine);

  struct SharedMemory {
    std::unique_ptr<Communicator> communicator;  ///< nullptr: it cannot be shared
    std::string reason;                          ///< why not
  };
  /// The same outcome on every rank: all reach the memory that rank 0 makes, or none uses it. Only for ranks on one
  /// host. `status`: the record of this rank, where it has one already. Errors as exchange_facts. Collective.
  SharedMemory share_memory(const std::vector<RankFacts>& ranks, std::shared_ptr<StatusWriter> status = nullptr);

  /// Whether `rank` has left its facts. Throws RunError where the store cannot be reached. Local.
  bool has_come(int rank) const;

 private:
  std::string await(const std::string& key, int from) const;

  RendezvousStore* store_;
  int rank_;
  int world_size_;
  std::chrono::milliseconds timeout_;
  Deadline deadline_;
};

}  // namespace samegrad
