#include "samegrad/checkpoint/place_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"
#include "samegrad/checkpoint/staged_folder.h"

namespace samegrad {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw RunError("checkpoint", path.string() + ": " + what);
}

void rename_or_throw(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    refuse(to, "renaming " + from.filename().string() + " to it: " + std::strerror(errno));
  }
}

/// False where the file system does not know the exchange.
bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS) {
    refuse(b, "exchanging it with " + a.filename().string() + ": " + std::strerror(errno));
  }
  return false;
}

}  // namespace

std::filesystem::path place_folder(const std::filesystem::path& finished, const std::filesystem::path& final_path,
                                   const std::filesystem::path& old_aside, ReplaceWay way, std::int64_t update) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::symlink_status(final_path, error);
  if (!std::filesystem::exists(there)) {
    rename_or_throw(finished, final_path);
    return {};
  }
  if (!std::filesystem::is_directory(there)) {
    refuse(final_path, "is no folder; a checkpoint does not replace it: move it away");
  }
  if (way == ReplaceWay::kExchange && exchange(finished, final_path)) {
    return finished;
  }
  rename_or_throw(final_path, old_aside);
  fault_point("save:old-aside", kSavingRank, update);
  try {
    rename_or_throw(finished, final_path);
  } catch (const RunError&) {
    rename_or_throw(old_aside, final_path);
    throw;
  }
  return old_aside;
}

}  // namespace samegrad
