// From what a launcher says to ranks that can talk.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "samegrad/comm/communicator.h"
#include "samegrad/comm/environment.h"

namespace samegrad {

struct JoinedRanks {
  std::unique_ptr<Communicator> communicator;
  std::string
      note;  ///< how the ranks of another launcher talk, and why; the same on all ranks; "" where it is as asked
};

/// Joins the ranks of `environment` by `backend`, which messages call `option`: alone; over inherited shared memory; or
/// after a meeting in the launcher's store, where ranks of one host share memory (`auto`, `shm`) and others use Gloo
/// (`auto`, `gloo`). Throws InputError where `shm` is asked for and the ranks run on several hosts, or it contradicts
/// what the launcher handed over; PeerError naming a rank that does not come in time; RunError. Collective.
JoinedRanks join_ranks(const WorkerEnvironment& environment, const std::string& backend,
                       std::chrono::milliseconds timeout, const std::string& option = "run.backend");

}  // namespace samegrad
