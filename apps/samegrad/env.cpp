#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/library_versions.h"
#include "apps/samegrad/machine.h"
#include "apps/samegrad/run_needs.h"
#include "apps/samegrad/start_worker.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/config/load.h"
#include "samegrad/launch/pinned_environment.h"
#include "samegrad/report/facts_list.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

constexpr int kDualProcesses = 2;

struct Findings {
  Json json = Json::object();
  std::vector<std::pair<std::string, std::string>> lines;
  std::vector<std::string> missing;  ///< reasons why the run cannot be done here
};

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : between;
    text += word;
  }
  return text;
}

std::string with_value(std::string name, std::string_view between, std::string_view value) {
  return name.append(between).append(value);
}

void add_cpu(Findings& found, const Machine& machine, const RunConfig& config) {
  found.json["cpu"] = {
      {"model", machine.cpu}, {"vendor", machine.vendor}, {"cores", machine.cores}, {"isa", machine.isa}};
  found.lines.emplace_back("CPU", machine.cpu + ", " + std::to_string(machine.cores) + " cores for this process");
  found.lines.emplace_back("instructions", machine.isa.empty() ? "none of those looked for" : joined(machine.isa, " "));
  found.json["device"] = "cpu";
  found.lines.emplace_back("device", "cpu (GPUs are not built today)");
  const bool gloo = config.run.backend == "gloo";
  found.json["backend"] = gloo ? "gloo" : "shm";
  found.lines.emplace_back("transport", gloo ? "gloo: sockets between processes, of this host and others"
                                             : "shm: shared memory between processes of this host");
  found.json["run_isa"] = config.run.isa;
}

void add_memory(Findings& found, const Machine& machine, const RunNeeds& needs, std::int64_t processes) {
  const std::int64_t needed = needs.memory_of_process * processes;
  found.json["memory"] = {{"total_bytes", machine.memory_total},
                          {"free_bytes", machine.memory_free},
                          {"needed_bytes", needed},
                          {"processes", processes}};
  found.lines.emplace_back("memory", bytes_text(machine.memory_free) + " free of " + bytes_text(machine.memory_total) +
                                         "; " + std::to_string(processes) + " processes need about " +
                                         bytes_text(needed));
  if (machine.memory_free < needed) {
    found.missing.push_back("memory: " + bytes_text(machine.memory_free) + " free, " + std::to_string(processes) +
                            " processes need about " + bytes_text(needed) +
                            "; use fewer processes, a smaller batch or a smaller model");
  }
}

void add_disk(Findings& found, const std::filesystem::path& run, const RunNeeds& needs) {
  const std::int64_t free = free_disk(run).value_or(0);
  found.json["disk"] = {{"folder", run.string()}, {"free_bytes", free}, {"needed_bytes", needs.disk}};
  found.lines.emplace_back(
      "disk", bytes_text(free) + " free in '" + run.string() + "'; the run needs about " + bytes_text(needs.disk));
  if (free < needs.disk) {
    found.missing.push_back("disk: " + bytes_text(free) + " free in '" + run.string() + "', the run needs about " +
                            bytes_text(needs.disk) + "; free some, or choose another folder with --run");
  }
  std::filesystem::path existing = std::filesystem::absolute(run);
  std::error_code error;
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  if (!std::filesystem::is_directory(existing, error) || access(existing.c_str(), W_OK | X_OK) != 0) {
    found.missing.push_back("run folder: '" + existing.string() +
                            "' cannot be written by this user; choose another with --run");
  }
}

void add_settings(Findings& found, const RunSection& run) {
  std::vector<std::string> pinned;
  for (const auto& [name, value] : pinned_environment(run)) {
    found.json["pinned"][name] = value;
    pinned.push_back(with_value(name, "=", value));
  }
  found.lines.emplace_back("set for workers", joined(pinned, " "));
}

void add_launcher(Findings& found) {
  constexpr std::array<const char*, 14> kVariables{"RANK",
                                                   "WORLD_SIZE",
                                                   "LOCAL_RANK",
                                                   "LOCAL_WORLD_SIZE",
                                                   "MASTER_ADDR",
                                                   "MASTER_PORT",
                                                   "TORCHELASTIC_RUN_ID",
                                                   "ACCELERATE_MIXED_PRECISION",
                                                   "OMPI_COMM_WORLD_RANK",
                                                   "OMPI_COMM_WORLD_SIZE",
                                                   "PMI_RANK",
                                                   "PMI_SIZE",
                                                   "SLURM_PROCID",
                                                   "SLURM_NTASKS"};
  std::vector<std::string> variables;
  found.json["launcher"] = Json::object();
  for (const char* name : kVariables) {
    if (const char* const value = std::getenv(name)) {
      found.json["launcher"][name] = value;
      variables.push_back(with_value(name, "=", value));
    }
  }
  found.lines.emplace_back("launcher",
                           variables.empty() ? "none: samegrad starts its own processes" : joined(variables, " "));
}

void add_programs(Findings& found) {
  std::vector<std::string> versions;
  for (const auto& [name, version] : library_versions()) {
    found.json["libraries"][name] = version;
    versions.push_back(with_value(name, " ", version));
  }
  found.lines.emplace_back("built with", joined(versions, ", "));
  try {
    found.json["worker"] = worker_path().string();
  } catch (const RunError& error) {
    found.json["worker"] = nullptr;
    found.missing.emplace_back(error.what());
  }
}

Findings look_around(const CommandLine& command, const RunConfig& config) {
  Findings found;
  const Machine machine = this_machine();
  const RunNeeds needs = run_needs(config);
  found.lines.emplace_back("model", grouped(needs.parameters) + " parameters");
  found.json["parameters"] = needs.parameters;
  add_cpu(found, machine, config);
  add_memory(found, machine, needs,
             std::min<std::int64_t>(config.plan.virtual_ranks, std::max<std::int64_t>(2, machine.cores)));
  add_disk(found, command.run, needs);
  add_settings(found, config.run);
  add_launcher(found);
  add_programs(found);
  return found;
}

/// For a worker that does what `option` says.
std::vector<std::string> worker_arguments(const CommandLine& command, const std::string& option) {
  std::vector<std::string> arguments{"env", option};
  if (!command.config.empty()) {
    arguments.insert(arguments.end(), {"--config", command.config});
  }
  for (const std::string& setting : command.overrides) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  return arguments;
}

int measure_cost(const CommandLine& command, const RunConfig& config) {
  std::vector<std::string> arguments = worker_arguments(command, "--measure-cost");
  if (command.json) {
    arguments.emplace_back("--json");
  }
  return launch_and_report(config.run, /*processes=*/1, std::move(arguments));
}

int start_two(const CommandLine& command, const RunConfig& config) {
  std::vector<std::string> arguments = worker_arguments(command, "--dual");
  if (command.json || command.quiet) {
    arguments.emplace_back("--quiet");
  }
  return launch_and_report(config.run, kDualProcesses, std::move(arguments));
}

}  // namespace

int run_env(const CommandLine& command) {
  const RunConfig config = load_config(command.config, command.overrides);
  if (command.measure_cost) return measure_cost(command, config);
  Findings found = look_around(command, config);
  int dual_exit_code = 0;
  if (command.dual && found.missing.empty()) {
    dual_exit_code = start_two(command, config);
    found.json["dual"] = {{"processes", kDualProcesses}, {"ok", dual_exit_code == 0}};
    found.lines.emplace_back(
        "dual", dual_exit_code == 0 ? "2 processes started, met and exchanged a tensor" : "FAILED, as said above");
  }
  found.json["missing"] = found.missing;
  if (command.json) {
    std::cout << result_text(found.json) << "\n";
  } else {
    std::cout << facts_list(found.lines, {});
  }
  if (!found.missing.empty()) {
    throw InputError("env", found.missing.front());
  }
  if (dual_exit_code != 0) {
    throw InputError("env", "two processes cannot work together here: exit code " + std::to_string(dual_exit_code));
  }
  return 0;
}

}  // namespace samegrad
