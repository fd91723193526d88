#include "samegrad/checkpoint/staged_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"
#include "samegrad/checkpoint/step_name.h"

namespace samegrad {
namespace {

/// Returns 0 or errno. Each new folder is made known to its parent on disk.
int make_folder_durably(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), 0777) == 0) {
    fsync_folder(folder.parent_path());
    return 0;
  }
  if (errno == EEXIST) {
    return std::filesystem::is_directory(folder) ? 0 : ENOTDIR;
  }
  if (errno != ENOENT) {
    return errno;
  }
  if (std::filesystem::is_directory(folder.parent_path())) return ENOENT;  // as in /proc: no folder can be made there
  const int reason = make_folder_durably(folder.parent_path());
  return reason != 0 ? reason : make_folder_durably(folder);
}

bool process_is_gone(pid_t process) {
  // This process has just begun its save: what carries its id is of an earlier process.
  return process == getpid() || (kill(process, 0) != 0 && errno == ESRCH);
}

/// A descriptor that is closed on every way out.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int get() const { return descriptor_; }
  /// Returns 0 or errno.
  int close() { return ::close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno; }

 private:
  int descriptor_;
};

}  // namespace

StagedFolder::StagedFolder(const std::filesystem::path& checkpoints, std::int64_t update, std::int64_t bytes_needed)
    : checkpoints_(std::filesystem::absolute(checkpoints).lexically_normal()),
      update_(update),
      bytes_needed_(bytes_needed) {
  if (!checkpoints_.has_filename()) {
    checkpoints_ = checkpoints_.parent_path();  // "x/checkpoints/" names the same folder
  }
  if (const int reason = make_folder_durably(checkpoints_); reason != 0) {
    fail("making the folder", reason);
  }
  fault_point("save:begin", kSavingRank, update_);
  const std::filesystem::path staged = checkpoints_ / aside_name(AsideKind::kSaving, update_).text();
  if (mkdir(staged.c_str(), 0777) != 0) {
    fail("making " + staged.filename().string(), errno);
  }
  staged_ = staged;
}

StagedFolder::~StagedFolder() {
  if (!placed_) {
    std::error_code ignored;  // what stays is hidden, and the next save removes it
    std::filesystem::remove_all(staged_, ignored);
  }
}

ManifestFile StagedFolder::write(const std::string& name, std::span<const std::string_view> pieces) {
  fault_point("save:making-" + name, kSavingRank, update_);
  OpenFile file(open((staged_ / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file.get() < 0) {
    fail("making " + name, errno);
  }
  Sha256 hash;
  ManifestFile written{.name = name, .size = 0, .sha256 = {}};
  for (const std::string_view piece : pieces) {
    fault_point("save:writing-" + name, kSavingRank, update_);
    hash.update(piece);
    write_bytes(file.get(), name, piece);
    written.size += static_cast<std::int64_t>(piece.size());
  }
  fault_point("save:written-" + name, kSavingRank, update_);
  if (fsync(file.get()) != 0) {
    fail("fsync of " + name, errno);
  }
  if (const int reason = file.close(); reason != 0) {
    fail("closing " + name, reason);
  }
  fault_point("save:synced-" + name, kSavingRank, update_);
  written.sha256 = hash.hex();
  return written;
}

void StagedFolder::write_bytes(int descriptor, const std::string& name, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      fail("writing " + name, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
}

std::filesystem::path StagedFolder::place(ReplaceWay way) {
  fsync_folder(staged_);
  fault_point("save:folder-synced", kSavingRank, update_);
  std::filesystem::path final_path = checkpoints_ / step_folder_name(update_);
  const std::filesystem::path old =
      place_folder(staged_, final_path, checkpoints_ / aside_name(AsideKind::kReplaced, update_).text(), way, update_);
  placed_ = true;
  fault_point("save:placed", kSavingRank, update_);
  fsync_folder(checkpoints_);
  fault_point("save:parent-synced", kSavingRank, update_);
  if (!old.empty()) {
    std::error_code ignored;  // the new one is safe; what stays is hidden, and the next save removes it
    std::filesystem::remove_all(old, ignored);
    fault_point("save:old-removed", kSavingRank, update_);
  }
  return final_path;
}

void StagedFolder::fail(const std::string& operation, int reason) const {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(checkpoints_, error);
  throw RunError("checkpoint", (checkpoints_ / step_folder_name(update_)).string() + ": " + operation + ": " +
                                   std::strerror(reason) + "; needs about " + std::to_string(bytes_needed_) +
                                   " bytes, " + (error ? "an unknown number of" : std::to_string(space.available)) +
                                   " bytes are free there; nothing of this save stays");
}

void remove_leftovers(const std::filesystem::path& checkpoints) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(checkpoints, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::optional<AsideName> name = parse_aside_name(entry->path().filename().string());
    if (!name || !process_is_gone(name->process)) {
      continue;
    }
    std::error_code ignored;
    const std::filesystem::path final_path = checkpoints / name->step_folder;
    if (name->kind == AsideKind::kReplaced && !std::filesystem::exists(final_path, ignored)) {
      std::filesystem::rename(entry->path(), final_path, ignored);
    } else {
      std::filesystem::remove_all(entry->path(), ignored);
    }
  }
}

}  // namespace samegrad
