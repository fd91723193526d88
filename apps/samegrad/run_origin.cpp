#include "apps/samegrad/run_origin.h"

#include <filesystem>
#include <map>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/saved_dispatch.h"
#include "samegrad/config/load.h"

namespace samegrad {
namespace {

// The run's checkpoints by update, by their manifests alone: tensors are read of those that are used. Whose a damaged
// manifest is cannot be known.
std::map<std::int64_t, std::filesystem::path> checkpoints_of(const RunPaths& paths, const std::string& run_id) {
  std::map<std::int64_t, std::filesystem::path> own;
  for (const std::filesystem::path& folder : checkpoint_folders(paths.checkpoints)) {
    try {
      const Manifest manifest = read_manifest(folder);
      if (manifest.run_id == run_id) own.emplace(manifest.update, folder);
    } catch (const Error&) {
      continue;
    }
  }
  return own;
}

std::optional<Checkpoint> verified_or_noted(const std::filesystem::path& folder, std::vector<std::string>& notes) {
  ExaminedCheckpoint examined = examine_checkpoint(folder);
  if (!examined.verified) notes.push_back("passed over " + folder.string() + ": " + examined.status.problem);
  return std::move(examined.verified);
}

RunConfig config_in(const Json& json, const std::filesystem::path& file) {
  try {
    return config_from_json(json);
  } catch (const InputError& error) {
    throw InputError("bisect", file.string() + ": " + error.what());
  }
}

void describe_by(RunOrigin& origin, const Checkpoint& checkpoint) {
  origin.config = config_in(checkpoint.state.value("config", Json()), checkpoint.path / kStateFile);
  origin.dispatch = saved_dispatch(checkpoint.manifest);
  origin.data_lock = checkpoint.state.value("data_lock", Json());
}

// Whether outputs/run.json is this run's and says how it was made.
bool describe_by_current_run(RunOrigin& origin, const RunPaths& paths, const std::string& run_id) {
  if (!std::filesystem::exists(paths.current_run)) return false;
  const Json current = read_json_file(paths.current_run, "bisect");
  if (!current.is_object() || current.value("run_id", Json()) != run_id || !current.contains("config")) return false;
  origin.config = config_in(current["config"], paths.current_run);
  origin.dispatch = current.value("dispatch", Json());
  return true;
}

}  // namespace

RunOrigin find_origin(const RunPaths& paths, const std::string& run_id, std::int64_t update) {
  RunOrigin origin;
  const std::map<std::int64_t, std::filesystem::path> own = checkpoints_of(paths, run_id);
  const auto later = own.upper_bound(update);
  for (auto each = later; each != own.begin() && !origin.checkpoint;) {
    origin.checkpoint = verified_or_noted((--each)->second, origin.notes);
  }
  // A resume may change the number of updates: the next update is described by what its own process saved.
  for (auto each = later; each != own.end(); ++each) {
    if (const std::optional<Checkpoint> maker = verified_or_noted(each->second, origin.notes)) {
      describe_by(origin, *maker);
      return origin;
    }
  }
  if (describe_by_current_run(origin, paths, run_id)) return origin;
  if (!origin.checkpoint) {
    throw InputError("bisect", paths.run.string() + ": no complete checkpoint of run " + run_id +
                                   " is left, and outputs/run.json is another run's: its configuration is not known");
  }
  describe_by(origin, *origin.checkpoint);
  return origin;
}

}  // namespace samegrad
