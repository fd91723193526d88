#include "samegrad/checkpoint/replaceable.h"

#include <optional>
#include <system_error>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/manifest.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/step_name.h"

namespace samegrad {

std::string hindrance_to_replace(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::exists(there)) return "";
  const std::string advice = "; a checkpoint does not replace it: move it away";
  if (!std::filesystem::is_directory(there)) return "is no folder" + advice;
  for (auto entry = std::filesystem::directory_iterator(path, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!is_checkpoint_file_name(name)) return "holds '" + printable(name) + "', which is no checkpoint's" + advice;
  }
  return error ? "cannot be read: " + error.message() + advice : "";
}

void require_replaceable(const std::filesystem::path& checkpoints, std::int64_t from, std::int64_t last) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(checkpoints, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::optional<std::int64_t> update = parse_step_folder_name(entry->path().filename().string());
    if (!update || *update < from || *update > last) continue;
    if (const std::string hindrance = hindrance_to_replace(entry->path()); !hindrance.empty()) {
      throw RunError("checkpoint", entry->path().string() + ": " + hindrance);
    }
  }
}

}  // namespace samegrad
