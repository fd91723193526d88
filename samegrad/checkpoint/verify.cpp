#include <algorithm>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/checkpoint/strict_json.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "checkpoint";
constexpr std::size_t kLongestManifest = 100'000'000;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw CheckError(kStage, path.string() + ": " + what);
}

/// Maps a file of the checkpoint. Symlinks are refused: they could point anywhere, and elsewhere tomorrow.
MappedFile open_part(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    refuse(path, "missing; the checkpoint is not complete");
  }
  if (!error && status.type() != std::filesystem::file_type::regular) {
    refuse(path, "not a regular file");
  }
  return {path, kStage};
}

void refuse_unlisted(const std::filesystem::path& folder, const Manifest& manifest) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool listed =
        name == kManifestFile || std::any_of(manifest.files.begin(), manifest.files.end(),
                                             [&](const ManifestFile& file) { return file.name == name; });
    if (!listed) {
      refuse(folder, "holds '" + printable(name) + "', which its manifest does not list");
    }
  }
  if (error) {
    throw InputError(kStage, folder.string() + ": cannot be read: " + error.message());
  }
}

/// Maps a listed file and holds it against size and digest.
MappedFile verified_part(const std::filesystem::path& folder, const ManifestFile& listed) {
  const std::filesystem::path path = folder / listed.name;
  MappedFile file = open_part(path);
  const auto refuse_damaged = [&](const std::string& what) {
    const std::string place = damaged_place(listed, file.bytes());
    refuse(path, (place.empty() ? "" : "damaged: " + place + ": ") + what);
  };
  if (std::cmp_not_equal(file.bytes().size(), listed.size)) {
    refuse_damaged(std::to_string(file.bytes().size()) + " bytes; its manifest says " + std::to_string(listed.size));
  }
  if (const std::string digest = sha256_hex(file.bytes()); digest != listed.sha256) {
    refuse_damaged((listed.tensors.empty() ? "damaged: SHA-256 " : "SHA-256 ") + digest + "; its manifest says " +
                   listed.sha256);
  }
  return file;
}

/// What an unverified rank file says of itself; null where it says nothing.
Json held_virtual_rank(std::string_view bytes) {
  try {
    const Json json = parse_untrusted_json(bytes);
    return json.is_object() ? json.value("virtual_rank", Json()) : Json();
  } catch (const JsonRefused&) {
    return {};
  }
}

/// Refuses the file of virtual rank `rank` where its content is not the one listed; says so where it is another rank's.
MappedFile verified_rank_file(const std::filesystem::path& folder, const ManifestFile& listed, std::size_t rank) {
  try {
    return verified_part(folder, listed);
  } catch (const CheckError&) {
    const std::filesystem::path path = folder / listed.name;
    std::error_code ignored;
    if (std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::not_found) {
      refuse(path, "missing, the history of virtual rank " + std::to_string(rank) + "; the checkpoint is not complete");
    }
    const Json holds = held_virtual_rank(open_part(path).bytes());
    if (holds.is_number_integer() && holds != rank) {
      refuse(path, "holds the history of virtual rank " + holds.dump() + ", not of " + std::to_string(rank));
    }
    throw;
  }
}

/// The JSON of a verified file, which must hold `value` under `key`.
Json verified_json(const MappedFile& file, const std::filesystem::path& path, const char* key, const Json& value) {
  Json json = parse_strict_json(file.bytes(), path.string());
  if (!json.is_object() || json.value(key, Json()) != value) {
    refuse(path, std::string(key) + " is not " + printable_json(value) + ", as the checkpoint has it elsewhere");
  }
  return json;
}

}  // namespace

Manifest read_manifest(const std::filesystem::path& checkpoint) {
  std::error_code error;
  if (!std::filesystem::is_directory(checkpoint, error)) {
    throw InputError(kStage, checkpoint.string() + ": no such folder; give the path of a checkpoint, such as " +
                                 "artifacts/checkpoints/step-0050");
  }
  const std::filesystem::path path = checkpoint / kManifestFile;
  const MappedFile file = open_part(path);
  if (file.bytes().size() > kLongestManifest) {
    refuse(path,
           std::to_string(file.bytes().size()) + " bytes; a manifest has at most " + std::to_string(kLongestManifest));
  }
  return parse_manifest(file.bytes(), path.string());
}

Checkpoint verify_checkpoint(const std::filesystem::path& given) {
  const std::filesystem::path path = given.has_filename() ? given : given.parent_path();  // "step-0050/" has a name too
  Checkpoint checkpoint{.path = path, .update = 0, .manifest = read_manifest(path), .state = {}, .rank_files = {}};
  const Manifest& manifest = checkpoint.manifest;
  checkpoint.update = manifest.update;
  const std::optional<std::int64_t> named = parse_step_folder_name(path.filename().string());
  if (named && *named != manifest.update) {
    refuse(path, "its manifest says update " + std::to_string(manifest.update) + ", its name another");
  }
  refuse_unlisted(path, manifest);

  verified_part(path, manifest.files[0]);
  verified_part(path, manifest.files[1]);
  checkpoint.state =
      verified_json(verified_part(path, manifest.files[2]), path / kStateFile, "update", manifest.update);
  if (checkpoint.state.value("run_id", Json()) != manifest.run_id) {
    refuse(path / kStateFile, "run_id is not the manifest's");
  }
  if (manifest.has_extra_file()) {
    verified_part(path, manifest.files[3]);
    const SafetensorsFile extra(path / kExtraFile);
  }
  for (std::size_t i = 0; i < manifest.virtual_ranks(); ++i) {
    const ManifestFile& listed = manifest.files[manifest.first_rank_file() + i];
    checkpoint.rank_files.push_back(
        verified_json(verified_rank_file(path, listed, i), path / listed.name, "virtual_rank", i));
  }
  const SafetensorsFile model(path / kModelFile);
  const SafetensorsFile optimizer(path / kOptimizerFile);
  read_optimizer_options(optimizer);
  return checkpoint;
}

Json read_optimizer_options(const SafetensorsFile& optimizer) {
  const auto found = optimizer.metadata().find(kOptimizerOptionsKey);
  if (found == optimizer.metadata().end()) {
    throw CheckError("checkpoint", std::string(kOptimizerFile) + ": its metadata has no " + kOptimizerOptionsKey);
  }
  return parse_strict_json(found->second, std::string(kOptimizerFile) + ": " + kOptimizerOptionsKey);
}

}  // namespace samegrad
