#include "samegrad/launch/launch.h"

#include <system_error>

#include "samegrad/base/error.h"
#include "samegrad/base/folder_probe.h"
#include "samegrad/comm/environment.h"
#include "samegrad/launch/attempt.h"
#include "samegrad/launch/error_file.h"
#include "samegrad/launch/guarded_launch.h"
#include "samegrad/launch/private_folder.h"

namespace samegrad {
namespace {

/// Finds out before anything starts whether a verdict can be written there, and takes away that of an older launch.
void clear_failure_file(const std::filesystem::path& file) {
  if (file.empty()) {
    return;
  }
  const auto refuse = [&](const std::string& reason) {
    throw InputError("launch",
                     "--failure-json: " + file.string() + ": " + reason + "; give a file that can be written");
  };
  std::error_code error;
  // A link, such as /dev/stdout, would be replaced, not what it leads to.
  const std::filesystem::file_status found = std::filesystem::symlink_status(file, error);
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    refuse("is no regular file");
  }
  try {
    probe_folder(std::filesystem::absolute(file).parent_path());
  } catch (const RunError& reason) {
    refuse(reason.what());
  }
  if (!std::filesystem::remove(file, error) && error) {
    refuse("removing what is there: " + error.message());
  }
}

/// What cannot be written is told, and changes nothing of the verdict.
void write_failure(const LaunchOptions& options, LaunchResult& result) {
  if (!options.failure_json.empty() && !result.failure.is_null()) {
    try {
      write_json_file(options.failure_json, result.failure);
    } catch (const RunError& reason) {
      result.lines.push_back("warning: [launch] --failure-json: " + std::string(reason.what()));
    }
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
  clear_failure_file(options.failure_json);
  const PrivateFolder folder;
  LaunchResult result = run_guarded([&](const GuardedSide& side) { return run_attempts(options, side, folder.path()); },
                                    [&] { folder.remove(); });
  if (result.failure.is_object() && result.failure["kind"] == "launcher") {
    write_failure(options, result);
  }
  return result;
}

}  // namespace samegrad
