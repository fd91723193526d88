#include "samegrad/checkpoint/staged_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <utility>

#include "samegrad/base/blocked_signals.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"
#include "samegrad/checkpoint/leftovers.h"
#include "samegrad/checkpoint/replaceable.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/kernels/xxh3.h"

namespace samegrad {
namespace {

constexpr std::size_t kHashedBeside = std::size_t{1} << 20;

/// So much at a time goes through both digests: it is still in the processor's cache for the second.
constexpr std::size_t kHashedAtOnce = std::size_t{256} << 10;

std::string_view bytes_of(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

/// The digests of a file, and of each of its tensors.
ManifestFile described(const std::string& name, std::string_view head, std::span<const TensorView> tensors) {
  Sha256 whole;
  whole.update(head);
  ManifestFile file{.name = name, .size = static_cast<std::int64_t>(head.size()), .sha256 = {}};
  for (const TensorView& tensor : tensors) {
    Xxh3 own;
    std::string_view rest = bytes_of(tensor);
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, kHashedAtOnce);
      whole.update(part);
      own.update(part);
      rest.remove_prefix(part.size());
    }
    const auto size = static_cast<std::int64_t>(tensor.bytes.size());
    file.tensors.push_back({.name = tensor.name, .size = size, .xxh3 = own.hex()});
    file.size += size;
  }
  file.sha256 = whole.hex();
  return file;
}

/// Closed on every way out.
struct OpenFile {
  FileOperations& files;
  int descriptor = -1;

  explicit OpenFile(FileOperations& with) : files(with) {}
  ~OpenFile() { close(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int close() { return descriptor < 0 ? 0 : files.close(std::exchange(descriptor, -1)); }
};

}  // namespace

StagedFolder::StagedFolder(FileOperations& files, const std::filesystem::path& checkpoints, std::int64_t update,
                           std::int64_t bytes_needed)
    : files_(&files),
      checkpoints_(std::filesystem::absolute(checkpoints).lexically_normal()),
      update_(update),
      bytes_needed_(bytes_needed) {
  if (!checkpoints_.has_filename()) {
    checkpoints_ = checkpoints_.parent_path();  // "x/checkpoints/" names the same folder
  }
  prepare_checkpoints();
  fault_point("save:begin", kSavingRank, update_);
  const std::filesystem::path staged = checkpoints_ / aside_name(AsideKind::kSaving, update_).text();
  check(files_->make_folder(staged), "making " + staged.filename().string());
  staged_ = staged;
}

StagedFolder::~StagedFolder() {
  if (!placed_ && !staged_.empty()) remove_tree(*files_, staged_);  // what stays is hidden; the next save removes it
}

void StagedFolder::prepare_checkpoints() {
  check(make_folders(*files_, checkpoints_), "making the folder");
  std::vector<std::string> names;
  check(files_->list(checkpoints_, names), "reading the folder");
  const auto is_step = [](const std::string& name) { return parse_step_folder_name(name).has_value(); };
  if (std::ranges::none_of(names, is_step)) {
    // Whoever made the folders above may have died before they were on the disk.
    check(fsync_folders_above(*files_, checkpoints_), "fsync of the folders above");
  }
  check(remove_leftovers(*files_, checkpoints_, names), "fsync of the folder");
}

ManifestFile StagedFolder::write(const std::string& name, std::string_view head, std::span<const TensorView> tensors) {
  std::size_t size = head.size();
  for (const TensorView& tensor : tensors) size += tensor.bytes.size();
  // Large ones are hashed while they are written, or after it where no thread can be had.
  const auto when = size >= kHashedBeside ? std::launch::async | std::launch::deferred : std::launch::deferred;
  std::future<ManifestFile> description = [&] {
    const BlockedSignals blocked;
    return std::async(when, [&] { return described(name, head, tensors); });
  }();

  fault_point("save:making-" + name, kSavingRank, update_);
  OpenFile file(*files_);
  check(files_->open_new(staged_ / name, file.descriptor), "making " + name);
  const auto check_open = [&](int reason, const char* operation) {
    if (reason != 0) file.close();  // or its bytes would not count as free
    check(reason, operation + name);
  };
  const auto write_part = [&](std::string_view bytes) {
    fault_point("save:writing-" + name, kSavingRank, update_);
    check_open(files_->write(file.descriptor, bytes), "writing ");
  };
  write_part(head);
  for (const TensorView& tensor : tensors) write_part(bytes_of(tensor));
  fault_point("save:written-" + name, kSavingRank, update_);
  check_open(files_->fsync(file.descriptor), "fsync of ");
  check(file.close(), "closing " + name);
  fault_point("save:synced-" + name, kSavingRank, update_);
  return description.get();
}

std::filesystem::path StagedFolder::place() {
  check(files_->fsync_folder(staged_), "fsync of " + staged_.filename().string());
  fault_point("save:folder-synced", kSavingRank, update_);
  std::filesystem::path final_path = checkpoints_ / step_folder_name(update_);
  const std::filesystem::path old = take_name(final_path);
  placed_ = true;
  fault_point("save:placed", kSavingRank, update_);
  check(files_->fsync_folder(checkpoints_), "fsync of the folder that it is in");
  fault_point("save:parent-synced", kSavingRank, update_);
  if (!old.empty()) {
    remove_tree(*files_, old);  // the new one is safe; what stays is hidden, and the next save removes it
    fault_point("save:old-removed", kSavingRank, update_);
  }
  return final_path;
}

/// Returns where the older one of that name is now; an empty path where there was none.
std::filesystem::path StagedFolder::take_name(const std::filesystem::path& final_path) {
  const std::string renaming = "renaming " + staged_.filename().string() + " to it";
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::symlink_status(final_path, error);
  if (!std::filesystem::exists(there)) {
    check(files_->rename(staged_, final_path), renaming);
    return {};
  }
  if (const std::string hindrance = hindrance_to_replace(final_path); !hindrance.empty()) fail(hindrance);
  const int exchanged = files_->exchange(staged_, final_path);
  if (exchanged == 0) return staged_;
  if (exchanged != EINVAL && exchanged != ENOSYS) {
    check(exchanged, "exchanging it with " + staged_.filename().string());
  }
  std::filesystem::path aside = checkpoints_ / aside_name(AsideKind::kReplaced, update_).text();
  check(files_->rename(final_path, aside), "renaming it to " + aside.filename().string());
  fault_point("save:old-aside", kSavingRank, update_);
  if (const int reason = files_->rename(staged_, final_path); reason != 0) {
    files_->rename(aside, final_path);  // where this fails too, it is found under its hidden name
    check(reason, renaming);
  }
  return aside;
}

void StagedFolder::check(int reason, const std::string& operation) {
  if (reason != 0) fail(operation + ": " + std::strerror(reason));
}

void StagedFolder::fail(const std::string& what) {
  std::string rest = "nothing of this save stays";
  if (placed_) {
    rest = "it is there whole, but a power loss may undo that";
  } else if (!staged_.empty()) {
    const std::string hidden = std::exchange(staged_, {}).string();
    if (remove_tree(*files_, hidden) != 0) rest = hidden + " could not be removed; the next save tries again";
  }
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(checkpoints_, error);
  throw RunError("checkpoint", (checkpoints_ / step_folder_name(update_)).string() + ": " + what + "; needs about " +
                                   std::to_string(bytes_needed_) + " bytes, " +
                                   (error ? "an unknown number of" : std::to_string(space.available)) +
                                   " bytes are free there; " + rest);
}

}  // namespace samegrad
