// `samegrad launch`: a person's own program, in several processes of this host that find each other by init().
#include "samegrad/launch/launch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "apps/samegrad/command_config.h"
#include "apps/samegrad/commands.h"
#include "apps/samegrad/start_worker.h"
#include "apps/samegrad/store_host.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"

namespace samegrad {
namespace {

/// From a failure until the others are asked to end: nothing makes a foreign program notice it by itself.
constexpr std::chrono::milliseconds kForeignGrace{500};

constexpr const char* kUnbuffered = "PYTHONUNBUFFERED";

/// 0, or the reason why `path` cannot be started.
int reason_not_to_start(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    return errno;
  }
  if (S_ISDIR(found.st_mode)) {
    return EISDIR;
  }
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// As a shell finds it: a name with a slash is a path, any other is looked for in PATH.
std::string find_program(const std::string& name) {
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(name);
  } else {
    std::istringstream folders(process_environment("PATH").value_or(""));
    for (std::string folder; std::getline(folders, folder, ':');) {
      candidates.push_back((folder.empty() ? "." : folder) + "/" + name);
    }
  }
  int reason = ENOENT;
  for (const std::string& candidate : candidates) {
    const int found = reason_not_to_start(candidate);
    if (found == 0) {
      return candidate;
    }
    reason = found == ENOENT || found == ENOTDIR ? reason : found;
  }
  throw InputError("launch", "'" + name + "': " + std::strerror(reason) +
                                 (candidates.size() == 1 ? "; give the path of a program that can be run"
                                                         : ", looked for in PATH; give a path, such as ./" + name));
}

}  // namespace

int run_launch(const CommandLine& command) {
  const RunConfig config = command_config(command);
  if (const int launched = read_worker_environment().world_size; launched > 1) {
    throw InputError("launch", "inside a launcher that started " + std::to_string(launched) +
                                   " processes; let it start the program itself, without `samegrad launch`");
  }
  const LaunchSettings& settings = command.launch;
  LaunchOptions options = launch_options(config.run, static_cast<int>(command.nproc), settings);
  options.program = find_program(command.program.front());
  options.arguments = {command.program.begin() + 1, command.program.end()};
  options.output.prefix = settings.prefix;
  options.workers_report = false;
  options.torchrun_environment = true;
  options.grace = kForeignGrace;
  options.run_id = settings.run_id;
  if (settings.prefix && !process_environment(kUnbuffered)) {
    // Lines of a Python program would come late, and not at all where it is killed.
    options.environment.emplace_back(kUnbuffered, "1");
  }
  if (settings.store == "auto") {
    options.store = {.program = worker_path().string(),
                     .arguments = {std::string(kStoreHostArgument)},
                     .host = settings.master_addr,
                     .port = static_cast<int>(settings.master_port)};
  }
  return log_launch(launch_workers(options));
}

}  // namespace samegrad
