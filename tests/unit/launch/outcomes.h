// Workers that ended in some way; rank r has pid 100 + r.
#pragma once

#include <optional>
#include <string>

#include "samegrad/launch/worker_outcome.h"

namespace samegrad::testing {

inline WorkerOutcome ended(int rank, int exit_code) { return {rank, 100 + rank, {exit_code, 0}, false, std::nullopt}; }

inline WorkerOutcome by_signal(int rank, int signal) { return {rank, 100 + rank, {0, signal}, false, std::nullopt}; }

inline WorkerOutcome reported(int rank, int exit_code, const std::string& message, int culprit_rank = -1) {
  WorkerOutcome outcome = ended(rank, exit_code);
  outcome.report = FailureReport{rank, exit_code, message, culprit_rank};
  return outcome;
}

inline WorkerOutcome made_to_end(WorkerOutcome outcome) {
  outcome.ended_by_launcher = true;
  return outcome;
}

}  // namespace samegrad::testing
