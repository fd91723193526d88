#include "apps/samegrad/start_worker.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "apps/samegrad/command_config.h"
#include "apps/samegrad/next_command.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/status_record.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/launch/accelerate_intent.h"
#include "samegrad/launch/launch.h"
#include "samegrad/launch/pinned_environment.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {
namespace {

/// Commands that work on what a checkpoint or nothing says; the others read the config, and fail early when it is
/// wrong.
bool reads_config(std::string_view subcommand) {
  constexpr std::array<std::string_view, 3> kWithout{"check-loss", "checkpoints", "generate"};
  return std::ranges::find(kWithout, subcommand) == kWithout.end();
}

/// A check of several processes is the point of these.
bool checks_several_processes(std::string_view subcommand) {
  return subcommand == "evaluate" || subcommand == "exercise" || subcommand == "verify";
}

/// With --resume auto.
std::vector<std::string> resuming(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = without_option(arguments, "--resume");
  words.insert(words.end(), {"--resume", "auto"});
  return words;
}

/// Name of the newest complete checkpoint of the current run; "" where there is none, or it cannot be known.
std::string newest_checkpoint(const RunPaths& paths) {
  try {
    const LatestCheckpoint latest = latest_checkpoint(paths);
    return latest.found ? latest.found->path.filename().string() : "";
  } catch (const Error&) {
    return "";
  }
}

/// The first that was given of the options that only a launcher of samegrad's own can keep, or "".
std::string launcher_option(const LaunchSettings& given) {
  if (given.max_restarts > 0) return "--max-restarts";
  if (!given.failure_json.empty()) return "--failure-json";
  return given.log_dir.empty() ? "" : "--log-dir";
}

/// What each start of a training leaves anew as it begins: before that, the folder's current run is an older one.
Json begun_run(const RunPaths& paths) {
  try {
    return std::filesystem::exists(paths.current_run) ? read_json_file(paths.current_run, "launch") : Json();
  } catch (const Error&) {
    return {};
  }
}

[[noreturn]] void exec_worker(const RunSection& run, const std::vector<std::string>& arguments) {
  for (const auto& [name, value] : pinned_environment(run)) {
    setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  }
  const std::string program = worker_path().string();
  std::vector<char*> raw{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) {
    raw.push_back(const_cast<char*>(argument.c_str()));
  }
  raw.push_back(nullptr);
  execv(program.c_str(), raw.data());
  throw RunError("start", program + ": cannot be started: " + std::strerror(errno));
}

/// The reader of the output went away: as for any program that prints, that is no failure to talk about. Returns where
/// this process was started with SIGPIPE ignored.
void end_by_pipe_signal() { std::raise(SIGPIPE); }

/// 0: accelerate did not start this process, or started as many as were wanted.
int processes_of_accelerate() {
  const std::optional<int> wanted = processes_wanted_of_accelerate(process_environment, parent_command());
  if (wanted) {
    log_info("accelerate found no GPU and started one process for " + std::to_string(*wanted) + ": starting " +
             std::to_string(*wanted) + " on this host");
  }
  return wanted.value_or(0);
}

}  // namespace

std::filesystem::path worker_path() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    throw RunError("start", "/proc/self/exe: " + error.message() + "; samegrad finds samegrad-worker through it");
  }
  std::filesystem::path worker = own.parent_path() / "samegrad-worker";
  if (access(worker.c_str(), X_OK) != 0) {
    throw RunError("start", worker.string() + ": " + std::strerror(errno) +
                                "; samegrad-worker must lie beside samegrad: build or install both");
  }
  return worker;
}

int run_in_workers(const CommandLine& line, int argc, const char* const* argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const RunConfig config = reads_config(line.subcommand) ? command_config(line) : RunConfig{};
  const int launched = read_worker_environment().world_size;
  std::int64_t processes = line.nproc;
  if (processes == 0) {
    processes = processes_of_accelerate();
  }
  if (processes == 0 && launched == 1 && checks_several_processes(line.subcommand)) {
    processes = config.plan.virtual_ranks;
  }
  bool joins = processes == 0 || (line.nproc_of_config && processes == launched);
  if (const std::string option = launcher_option(line.launch); joins && !option.empty()) {
    if (launched > 1) {
      throw InputError("launch", option + " inside a launcher that started " + std::to_string(launched) +
                                     " processes; that one has to do it: give it there");
    }
    processes = 1;
    joins = false;
  }
  if (joins) {
    exec_worker(config.run, arguments);
  }
  if (launched > 1) {
    const std::string name = line.nproc_of_config ? "num_processes" : "--nproc";
    throw InputError("launch", name + " " + std::to_string(processes) + " inside a launcher that started " +
                                   std::to_string(launched) + " processes; leave " + name + " out");
  }
  LaunchOptions options = launch_options(config.run, static_cast<int>(processes), line.launch);
  options.program = worker_path().string();
  options.arguments = arguments;
  if (line.subcommand == "train") {
    const RunPaths paths(line.run);
    options.restart_arguments = [paths, arguments, before = begun_run(paths)] {
      const bool goes_on = begun_run(paths) != before && !newest_checkpoint(paths).empty();
      return goes_on ? resuming(arguments) : arguments;
    };
    options.progress = [paths] { return newest_checkpoint(paths); };
    // Workers that are late end by themselves and say what is not saved: killed are those that cannot even do that.
    options.stop_grace = std::chrono::seconds(line.grace_s + 5);
  }
  const LaunchResult result = launch_workers(options);
  release_signals();
  if (result.exit_code == 128 + SIGPIPE) end_by_pipe_signal();
  return log_launch(result);
}

LaunchOptions launch_options(const RunSection& run, int processes, const LaunchSettings& settings) {
  LaunchOptions options;
  options.processes = processes;
  options.share_memory = run.backend != "gloo";
  options.environment = pinned_environment(run);
  if (const auto folder = process_environment(kStatusFolderVariable); folder && !folder->empty()) {
    options.environment.emplace_back(kStatusFolderVariable, *folder);
  }
  options.output = {.log_folder = settings.log_dir, .redirects = settings.redirects, .tee = settings.tee};
  options.restarts = {.max_restarts = static_cast<int>(settings.max_restarts),
                      .min_processes = static_cast<int>(settings.min_nproc)};
  options.failure_json = settings.failure_json;
  if (settings.grace_s > 0) {
    options.term_grace = options.stop_grace = std::chrono::seconds(settings.grace_s);
  }
  return options;
}

int launch_and_report(const RunSection& run, int processes, std::vector<std::string> arguments, int output_fd) {
  LaunchOptions options = launch_options(run, processes, {});
  options.program = worker_path().string();
  options.arguments = std::move(arguments);
  options.output.fd = output_fd;
  return log_launch(launch_workers(options));
}

int log_launch(const LaunchResult& result) {
  for (const std::string& text : result.lines) {
    log_error(text);
  }
  return result.exit_code;
}

}  // namespace samegrad
