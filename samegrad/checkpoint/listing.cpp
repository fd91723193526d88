#include <algorithm>
#include <cstring>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/step_name.h"

namespace samegrad {
namespace {

/// The update in a checkpoint's name; 0 where the name has none.
std::int64_t named_update(const std::filesystem::path& checkpoint) {
  const std::string name = checkpoint.filename().string();
  const std::optional<AsideName> aside = parse_aside_name(name);
  return aside ? aside->update : parse_step_folder_name(name).value_or(0);
}

std::int64_t bytes_in(const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == std::filesystem::file_type::regular) {
      bytes += static_cast<std::int64_t>(entry->file_size(ignored));
    }
  }
  return bytes;
}

/// What can be said without reading the tensors. `taken_back` is what `legs` says of it.
CheckpointStatus manifest_status(const std::filesystem::path& checkpoint, const RunLegs& legs,
                                 std::string& taken_back) {
  CheckpointStatus status{.path = checkpoint,
                          .complete = false,
                          .update = named_update(checkpoint),
                          .run_id = {},
                          .bytes = bytes_in(checkpoint),
                          .problem = {}};
  try {
    const Manifest manifest = read_manifest(checkpoint);
    status.run_id = manifest.run_id;
    status.update = manifest.update;
    taken_back = legs.taken_back(manifest);
  } catch (const Error& error) {
    status.problem = error.what();
  }
  return status;
}

/// Completes `status`; returns the checkpoint where it is whole.
std::optional<Checkpoint> verify_into(CheckpointStatus& status) {
  if (!status.problem.empty()) {
    return std::nullopt;
  }
  try {
    Checkpoint checkpoint = verify_checkpoint(status.path);
    status.complete = true;
    return checkpoint;
  } catch (const Error& error) {
    status.problem = error.what();
    return std::nullopt;
  }
}

/// Out of sight in one step, and that on the disk, so that neither a crash nor a power loss leaves half of it under its
/// name.
void remove_checkpoint(FileOperations& files, const std::filesystem::path& checkpoints,
                       const CheckpointStatus& status) {
  const std::filesystem::path hidden = checkpoints / aside_name(AsideKind::kRemoving, status.update).text();
  int reason = remove_tree(files, hidden);  // of an earlier process with this id
  if (reason == 0) reason = files.rename(status.path, hidden);
  if (reason == 0) reason = files.fsync_folder(checkpoints);
  if (reason == 0) reason = remove_tree(files, hidden);
  if (reason != 0) {
    throw RunError("checkpoint", status.path.string() + ": cannot be removed: " + std::strerror(reason));
  }
}

}  // namespace

std::vector<std::filesystem::path> checkpoint_folders(const std::filesystem::path& checkpoints) {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(checkpoints, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::optional<AsideName> aside = parse_aside_name(name);
    std::error_code ignored;
    const bool stands_in = aside && aside->kind == AsideKind::kReplaced &&
                           !std::filesystem::exists(checkpoints / aside->step_folder, ignored);
    if (parse_step_folder_name(name) || stands_in) {
      folders.push_back(entry->path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw InputError("checkpoint", checkpoints.string() + ": cannot be read as a folder: " + error.message());
  }
  std::sort(folders.begin(), folders.end(), [](const std::filesystem::path& a, const std::filesystem::path& b) {
    return std::pair(named_update(a), a) < std::pair(named_update(b), b);
  });
  return folders;
}

ExaminedCheckpoint examine_checkpoint(const std::filesystem::path& path) {
  std::string ignored;
  ExaminedCheckpoint examined{.status = manifest_status(path, {}, ignored), .verified = {}};
  examined.verified = verify_into(examined.status);
  return examined;
}

std::vector<CheckpointStatus> list_checkpoints(const std::filesystem::path& checkpoints) {
  std::vector<CheckpointStatus> listing;
  for (const std::filesystem::path& folder : checkpoint_folders(checkpoints)) {
    listing.push_back(examine_checkpoint(folder).status);
  }
  return listing;
}

LatestCheckpoint find_latest(const std::filesystem::path& checkpoints, const std::string& run_id, const RunLegs& legs) {
  LatestCheckpoint latest;
  std::vector<std::filesystem::path> folders = checkpoint_folders(checkpoints);
  std::reverse(folders.begin(), folders.end());
  for (const std::filesystem::path& folder : folders) {
    std::string taken_back;
    CheckpointStatus status = manifest_status(folder, legs, taken_back);
    if (status.problem.empty() && status.run_id != run_id) {
      status.problem = folder.string() + ": of run '" + printable(status.run_id) + "'";
    } else if (status.problem.empty() && !taken_back.empty()) {
      status.problem = folder.string() + ": " + taken_back;
    }
    latest.found = verify_into(status);
    if (latest.found) {
      return latest;
    }
    latest.passed_over.push_back(std::move(status));
  }
  return latest;
}

std::vector<std::filesystem::path> prune_checkpoints(const std::filesystem::path& checkpoints,
                                                     const std::string& run_id, const Retention& retention,
                                                     FileOperations& files, const RunLegs& legs) {
  SAMEGRAD_CHECK_OP(retention.keep, >=, 0);
  SAMEGRAD_CHECK_OP(retention.keep_every, >=, 0);
  std::vector<std::filesystem::path> removed;
  if (retention.keep == 0) return removed;
  std::vector<CheckpointStatus> of_run;
  for (const std::filesystem::path& folder : checkpoint_folders(checkpoints)) {
    std::string taken_back;
    CheckpointStatus status = manifest_status(folder, legs, taken_back);
    const bool counts = status.run_id == run_id && taken_back.empty() && status.update <= retention.saved;
    if (status.problem.empty() && counts) of_run.push_back(std::move(status));
  }
  if (std::cmp_less_equal(of_run.size(), retention.keep)) return removed;  // nothing has to be read whole
  std::reverse(of_run.begin(), of_run.end());
  std::int64_t complete = 0;
  for (CheckpointStatus& status : of_run) {
    const bool stays =
        complete >= retention.keep && retention.keep_every > 0 && status.update % retention.keep_every == 0;
    if (stays || !verify_into(status) || ++complete <= retention.keep) continue;
    remove_checkpoint(files, checkpoints, status);
    removed.push_back(status.path);
  }
  return removed;
}

}  // namespace samegrad
