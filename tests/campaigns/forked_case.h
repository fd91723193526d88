// One case of a campaign: a few real processes that are the ranks of a small run, over shared memory or over gloo, and
// how each of them ended. Linked into programs that have no threads.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "samegrad/comm/communicator.h"

namespace samegrad::testing {

enum class Backend { kShm, kGloo };

struct RankEnd {
  pid_t pid = 0;
  bool ended = false;       ///< it came to the end of its body, or threw an exception; false: it was killed, or aborted
  bool threw = false;       ///< an exception of samegrad
  int culprit_rank = -1;    ///< of a PeerError
  std::string message;      ///< the exception's line
  double late_seconds = 0;  ///< how long after the deadline that the body named it threw
};

/// What a rank of the case does; `deadline` is when the newest of its waits should end, for RankEnd::late_seconds.
using RankBody = std::function<void(Communicator& comm, std::chrono::steady_clock::time_point& deadline)>;

struct ForkedCase {
  Backend backend = Backend::kShm;
  int ranks = 2;
  std::filesystem::path folder;    ///< takes the ranks' status records
  std::vector<int> never_ends;     ///< ranks that are killed once all others have ended
  std::chrono::seconds limit{30};  ///< then the rest is killed
};

/// Runs `body` on every rank, each a process of its own, after all have met; `meanwhile` (may be empty) runs in this
/// process, with their pids. Returns how each ended, by rank.
std::vector<RankEnd> run_forked(const ForkedCase& one, const RankBody& body,
                                const std::function<void(const std::vector<pid_t>&)>& meanwhile = {});

}  // namespace samegrad::testing
