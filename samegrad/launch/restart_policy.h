// Whether workers that failed are started again, and how many of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace samegrad {

struct RestartLimits {
  int max_restarts = 0;
  int min_processes = 0;  ///< not fewer than these; 0: as many as at the start
};

/// What is known of an attempt that has ended.
struct AttemptEnd {
  int processes = 1;
  int exit_code = 0;
  bool stopped = false;   ///< it was asked to stop
  bool is_final = false;  ///< its culprit says itself that another start ends the same way: exit code 2 or 3
  bool done = false;      ///< its culprit says that all of its work was done (FailureReport)
  int culprit_rank = -1;  ///< -1: none
  std::optional<std::int64_t> update{};   ///< the highest that a rank was in; nothing: not known
  std::int64_t collectives = 0;           ///< the highest count of a rank
  std::optional<std::string> progress{};  ///< LaunchOptions::progress after it; nothing: not known
  std::chrono::milliseconds lasted{3'600'000};
};

struct RestartDecision {
  bool restart = false;
  int processes = 0;
  std::string reason;  ///< for a person; "": there is nothing to say
};

/// `ends`: all attempts so far, the newest last. Of two attempts in a row of as many processes with the same progress,
/// where the second ended in no higher update, or, where the progress is not known, in the same one after as many
/// collectives, they are a loop. The next one then has one process less, down to the limit; at the limit, where
/// anything is known of the progress, it was the last. Where nothing is known, they are a loop after five that ended
/// alike within ten seconds each. Local.
RestartDecision decide_restart(std::span<const AttemptEnd> ends, const RestartLimits& limits);

}  // namespace samegrad
