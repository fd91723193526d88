#include "samegrad/data/pending_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/file_operations.h"
#include "samegrad/base/temporary_name.h"

namespace samegrad {
namespace {

constexpr std::size_t kGathered = FileOperations::kWrittenAtOnce;

}  // namespace

PendingFile::PendingFile(const std::filesystem::path& path) : path_(std::filesystem::absolute(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  if (error) {
    throw RunError("write", path_.string() + ": creating the folder: " + error.message());
  }
  gathered_.reserve(kGathered);    // at once: growing it would take as much again
  remove_left_temporaries(path_);  // where the folder cannot be read, commit() says so
  temporary_ = temporary_path(path_);
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) {
    fail("opening a temporary file beside it");
  }
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
  if (!committed_) {
    unlink(temporary_.c_str());
  }
}

void PendingFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kGathered - gathered_.size());
    gathered_ += piece;
    bytes.remove_prefix(piece.size());
    if (gathered_.size() == kGathered) {
      flush();
    }
  }
}

void PendingFile::finish() {
  flush();
  gathered_ = std::string();  // its memory, too: the file may wait long for commit()
  if (fsync(descriptor_) != 0) {
    fail("fsync");
  }
}

void PendingFile::commit() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail("renaming");
  }
  committed_ = true;
  fsync_folder(path_.parent_path());
}

void PendingFile::flush() {
  errno = real_files().write(descriptor_, gathered_);
  if (errno != 0) {
    fail("writing");
  }
  gathered_.clear();
}

void PendingFile::fail(std::string_view operation) const {
  throw RunError("write", path_.string() + ": " + std::string(operation) + ": " + std::strerror(errno));
}

}  // namespace samegrad
