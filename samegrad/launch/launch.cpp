#include "samegrad/launch/launch.h"

#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"
#include "samegrad/launch/attempt.h"
#include "samegrad/launch/error_file.h"
#include "samegrad/launch/guarded_launch.h"
#include "samegrad/launch/private_folder.h"

namespace samegrad {
namespace {

void write_failure(const LaunchOptions& options, LaunchResult& result) {
  if (!options.failure_json.empty() && !result.failure.is_null()) {
    write_json_file(options.failure_json, result.failure);
  }
  if (!result.lines.empty() && !write_error_file(result.lines.front())) {
    result.lines.push_back(std::string("warning: [launch] ") + kErrorFileVariable +
                           ": the outer launcher's file cannot be written");
  }
}

/// All attempts; the result of the last.
LaunchResult run_attempts(const LaunchOptions& options, const GuardedSide& side, const std::filesystem::path& folder) {
  std::vector<AttemptEnd> ends;
  std::vector<std::string> news;
  int processes = options.processes;
  for (int attempt = 0;; ++attempt) {
    const bool first = attempt == 0 || !options.restart_arguments;
    const auto begin = std::chrono::steady_clock::now();
    AttemptResult ended = run_attempt(options,
                                      {.attempt = attempt,
                                       .processes = processes,
                                       .arguments = first ? options.arguments : options.restart_arguments(),
                                       .news = news,
                                       .folder = folder / ("attempt_" + std::to_string(attempt))},
                                      side);
    ended.end.lasted = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    ends.push_back(ended.end);
    const RestartDecision decision = decide_restart(ends, options.restarts);
    LaunchResult& result = ended.result;
    if (!decision.reason.empty()) {
      result.lines.push_back("[launch] " + decision.reason);
    }
    if (!decision.restart) {
      if (!result.failure.is_null()) {
        result.failure["attempt"] = attempt;
        result.failure["lines"] = result.lines;
        write_failure(options, result);
      }
      return std::move(result);
    }
    news = result.lines;
    processes = decision.processes;
  }
}

}  // namespace

LaunchResult launch_workers(const LaunchOptions& options) {
  if (options.processes < 1 || options.processes > kMostLocalProcesses) {
    throw InputError("launch", "number of processes: " + std::to_string(options.processes) + "; allowed are 1 to " +
                                   std::to_string(kMostLocalProcesses));
  }
  const PrivateFolder folder;
  LaunchResult result = run_guarded([&](const GuardedSide& side) { return run_attempts(options, side, folder.path()); },
                                    [&] { folder.remove(); });
  if (result.failure.is_object() && result.failure["kind"] == "launcher") {
    write_failure(options, result);
  }
  return result;
}

}  // namespace samegrad
