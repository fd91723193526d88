#include "apps/samegrad/command_config.h"

#include <filesystem>
#include <system_error>

#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/config/load.h"

namespace samegrad {
namespace {

std::string current_run_id(const RunPaths& paths) {
  if (!std::filesystem::exists(paths.current_run)) return "";
  const Json current = read_json_file(paths.current_run, "resume");
  return current.is_object() && current.contains("run_id") && current["run_id"].is_string()
             ? current["run_id"].get<std::string>()
             : "";
}

}  // namespace

RunLegs run_legs(const RunPaths& paths, const std::string& run_id) {
  if (run_id.empty() || current_run_id(paths) != run_id) return {};
  const Json current = read_json_file(paths.current_run, "resume");
  try {
    return current.contains("legs") ? RunLegs::from_json(current["legs"]) : RunLegs();
  } catch (const Json::exception& error) {
    throw InputError("resume", paths.current_run.string() + ": legs: not as samegrad train writes it: " + error.what() +
                                   "; give the checkpoint's path");
  }
}

void require_run_folder(std::string_view stage, const RunPaths& paths) {
  std::error_code unreadable;
  if (!std::filesystem::is_directory(paths.run, unreadable)) {
    throw InputError(stage, paths.run.string() + ": no such folder; give the folder of a run");
  }
}

LatestCheckpoint latest_checkpoint(const RunPaths& paths) {
  const std::string run_id = current_run_id(paths);
  return find_latest(paths.checkpoints, run_id, run_legs(paths, run_id));
}

Checkpoint checkpoint_to_verify(const CommandLine& line) {
  if (line.checkpoint != "latest") return verify_checkpoint(line.checkpoint);
  const RunPaths paths(line.run);
  LatestCheckpoint latest = latest_checkpoint(paths);
  if (!latest.found) {
    throw InputError("verify", "--checkpoint latest: no complete checkpoint of the current run in " +
                                   paths.checkpoints.string() + "; give a checkpoint's path, or train first");
  }
  return std::move(*latest.found);
}

RunConfig config_of(const Checkpoint& checkpoint) {
  const std::string file = (checkpoint.path / kStateFile).string();
  if (!checkpoint.state.contains("config")) throw CheckError("checkpoint", file + ": 'config' is missing");
  try {
    return config_from_json(checkpoint.state["config"]);
  } catch (const InputError& error) {
    throw CheckError("checkpoint", file + ": not as a training writes it: " + error.what());
  }
}

RunConfig command_config(const CommandLine& line) {
  if (line.subcommand != "verify" || line.checkpoint.empty() || !line.config.empty()) {
    return load_config(line.config, line.overrides);
  }
  return override_config(config_of(checkpoint_to_verify(line)), line.overrides);
}

}  // namespace samegrad
