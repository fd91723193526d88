#include "apps/samegrad/generated_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/samegrad/writable_folder.h"
#include "samegrad/base/error.h"
#include "samegrad/base/folder_probe.h"
#include "samegrad/base/temporary_name.h"
#include "samegrad/checkpoint/manifest.h"
#include "samegrad/checkpoint/step_name.h"

namespace samegrad {
namespace {

namespace fs = std::filesystem;

/// What a temporary name was to become, where its process is gone.
std::optional<std::string> abandoned_target(const fs::path& path) {
  std::optional<TemporaryName> name = parse_temporary_name(path.filename().string());
  return name && is_left_over(path, name->owner) ? std::optional(std::move(name->target)) : std::nullopt;
}

bool is_rank_with(std::string_view name, std::string_view after) {
  constexpr std::string_view kBefore = "rank-";
  if (!name.starts_with(kBefore) || !name.ends_with(after) || name.size() <= kBefore.size() + after.size()) {
    return false;
  }
  const std::string_view number = name.substr(kBefore.size(), name.size() - kBefore.size() - after.size());
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_checkpoint_part(std::string_view name) {
  if (name == kManifestFile || name == kModelFile || name == kOptimizerFile || name == kStateFile) {
    return true;
  }
  return is_rank_with(name, ".json");
}

/// A checkpoint's folder, or a hidden one of a save whose process is gone.
bool is_checkpoint_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (parse_step_folder_name(name)) {
    return true;
  }
  const std::optional<AsideName> aside = parse_aside_name(name);
  return aside && is_left_over(folder, aside->owner);
}

class Search {
 public:
  explicit Search(const RunPaths& paths) : paths_(paths) {
    for (const fs::path& file : paths.generated_files()) {
      known_.insert(file);
    }
  }

  GeneratedFiles run() {
    visit(paths_.outputs);
    visit(paths_.checkpoints.parent_path());
    visit_abandoned_scratch();
    std::ranges::sort(found_.files, {}, &GeneratedFile::path);
    return std::move(found_);
  }

 private:
  void add(GeneratedFiles more) {
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(found_.files, more.files);
    append(found_.folders, more.folders);
    append(found_.left, more.left);
  }

  /// What `train --dry-run` had prepared when it was killed (ScratchFolder of writable_folder.h).
  void visit_abandoned_scratch() {
    std::error_code error;
    for (fs::directory_iterator entry(paths_.run, error); !error && entry != fs::directory_iterator{};
         entry.increment(error)) {
      if (abandoned_target(entry->path()) == kScratchName) {
        RunPaths scratch(paths_.run);
        scratch.prepare_in(entry->path());
        scratch.outputs = entry->path();
        Search inside(scratch);
        inside.visit(entry->path());
        add(std::move(inside.found_));
      }
    }
  }

  bool is_ours(const fs::path& folder) const {
    return folder == paths_.outputs || folder == paths_.data_dir || folder == paths_.figures ||
           folder == paths_.status || folder == paths_.checkpoints || folder == paths_.checkpoints.parent_path() ||
           (folder.parent_path() == paths_.checkpoints && is_checkpoint_folder(folder));
  }

  bool is_written_as_a_whole(const fs::path& file) const {
    const bool is_status = file.parent_path() == paths_.status && is_rank_with(file.filename().string(), "");
    return known_.contains(file) || is_status;
  }

  bool is_known_file(const fs::path& file) const {
    const bool in_checkpoint = file.parent_path().parent_path() == paths_.checkpoints;
    if (is_written_as_a_whole(file) || (in_checkpoint && is_checkpoint_part(file.filename().string()))) {
      return true;
    }
    const std::optional<std::string> target = abandoned_target(file);
    return is_left_by_probe(file) || (target && is_written_as_a_whole(file.parent_path() / *target));
  }

  void visit(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::exists(status)) {
      return;
    }
    if (fs::is_symlink(status)) {
      found_.left.push_back({path, "a link"});
    } else if (fs::is_directory(status) && path == paths_.verify_resume) {
      visit_nested_run(path);
    } else if (fs::is_directory(status)) {
      is_ours(path) ? visit_folder(path) : found_.left.push_back({path, "a folder that samegrad does not know"});
    } else if (fs::is_regular_file(status) && is_known_file(path)) {
      const std::uintmax_t bytes = fs::file_size(path, error);
      found_.files.push_back({path, error ? 0 : static_cast<std::int64_t>(bytes)});
    } else {
      found_.left.push_back({path, "not a file that samegrad knows by name"});
    }
  }

  /// A run's folder in the run's folder.
  void visit_nested_run(const fs::path& folder) {
    add(find_generated(RunPaths(folder)));
    found_.folders.push_back(folder);
  }

  void visit_folder(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    std::vector<fs::path> inside;
    while (!error && entries != fs::directory_iterator{}) {
      inside.push_back(entries->path());
      entries.increment(error);
    }
    if (error) {
      throw RunError("clean", folder.string() + ": cannot be read: " + error.message());
    }
    std::ranges::sort(inside);
    for (const fs::path& entry : inside) {
      visit(entry);
    }
    found_.folders.push_back(folder);
  }

  const RunPaths& paths_;
  std::set<fs::path> known_;
  GeneratedFiles found_;
};

}  // namespace

std::int64_t GeneratedFiles::bytes() const {
  std::int64_t sum = 0;
  for (const GeneratedFile& file : files) {
    sum += file.bytes;
  }
  return sum;
}

GeneratedFiles find_generated(const RunPaths& paths) { return Search(paths).run(); }

void remove_generated(const GeneratedFiles& generated) {
  for (const GeneratedFile& file : generated.files) {
    if (unlink(file.path.c_str()) != 0 && errno != ENOENT) {
      throw RunError("clean", file.path.string() + ": cannot be removed: " + std::strerror(errno));
    }
  }
  for (const fs::path& folder : generated.folders) {
    rmdir(folder.c_str());  // fails where something was left inside, and then the folder stays
  }
}

}  // namespace samegrad
