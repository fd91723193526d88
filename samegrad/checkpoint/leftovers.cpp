#include "samegrad/checkpoint/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "samegrad/checkpoint/step_name.h"

namespace samegrad {
namespace {

bool process_is_gone(pid_t process) {
  // This process has just begun its save: what carries its id is of an earlier process.
  return process == getpid() || (kill(process, 0) != 0 && errno == ESRCH);
}

}  // namespace

int remove_leftovers(FileOperations& files, const std::filesystem::path& checkpoints,
                     const std::vector<std::string>& names) {
  std::vector<std::filesystem::path> left;
  bool named = false;
  for (const std::string& name : names) {
    const std::optional<AsideName> aside = parse_aside_name(name);
    if (!aside || !process_is_gone(aside->process)) continue;
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
