// How one worker of a launch ended, and all that the launcher knows about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/worker_process.h"

namespace samegrad {

/// Where a rank was last, as its status record says.
struct RankPlace {
  std::int64_t update = 0;       ///< 0: before the first
  std::string phase;             ///< "backward", "exchange", ...
  std::string call;              ///< its newest collective: "all_gather 'agreement' of update 7"; "": none yet
  bool in_call = false;          ///< it had not come back from it
  std::int64_t collectives = 0;  ///< how many it had called
};

/// A worker that has ended.
struct WorkerOutcome {
  int rank = 0;
  int pid = 0;
  WorkerEnd end;
  bool ended_by_launcher = false;  ///< made to end: another one had failed, or a second signal came
  std::optional<FailureReport> report;
  bool reported_itself = false;            ///< `report` is its own, by samegrad's means
  bool kept_others_waiting = false;        ///< it ended before it joined the others, and these had to be ended
  std::optional<std::string> last_line{};  ///< on standard error ("": none); nothing: the launcher did not see it
  std::string error_log{};                 ///< the file that has its standard error, where there is one
  std::optional<RankPlace> place{};
  std::int64_t memory_kills = 0;  ///< processes of the launcher's control group that the system killed for memory
};

/// Its exit code, or 128 + signal. Local.
int code_of(const WorkerOutcome& outcome);

/// "exit code 3", or "signal 9 SIGKILL". Local.
std::string how_it_ended(const WorkerOutcome& outcome);

/// Whether the worker ended as it was asked to: by `passed_signal`, or with 128 + SIGTERM, SIGINT or SIGHUP and no
/// report. Local.
bool stopped_as_asked(const WorkerOutcome& outcome, int passed_signal);

/// Whether the worker failed, by itself or not (false: it was done, or stopped as asked). Local.
bool has_failed(const WorkerOutcome& outcome, int passed_signal);

}  // namespace samegrad
