#include "samegrad/checkpoint/leftovers.h"

#include <algorithm>
#include <optional>

#include "samegrad/base/folder_probe.h"
#include "samegrad/checkpoint/step_name.h"

namespace samegrad {

int remove_leftovers(FileOperations& files, const std::filesystem::path& checkpoints,
                     const std::vector<std::string>& names, std::time_t now) {
  std::vector<std::filesystem::path> left;
  bool named = false;
  for (const std::string& name : names) {
    const std::optional<AsideName> aside = parse_aside_name(name);
    if (!aside && is_left_by_probe(checkpoints / name)) left.push_back(checkpoints / name);
    if (!aside || !is_left_over(checkpoints / name, aside->owner, now)) continue;
    if (aside->kind == AsideKind::kReplaced && std::ranges::find(names, aside->step_folder) == names.end()) {
      named = files.rename(checkpoints / name, checkpoints / aside->step_folder) == 0 || named;
    } else {
      left.push_back(checkpoints / name);
    }
  }
  if (left.empty() && !named) return 0;
  if (const int reason = files.fsync_folder(checkpoints); reason != 0) return reason;
  for (const std::filesystem::path& path : left) remove_tree(files, path);
  return 0;
}

}  // namespace samegrad
