#include "samegrad/data/pending_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/temporary_name.h"

namespace samegrad {
namespace {

constexpr std::size_t kGathered = std::size_t{1} << 18;

}  // namespace

PendingFile::PendingFile(const std::filesystem::path& path) : path_(std::filesystem::absolute(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  if (error) {
    throw RunError("write", path_.string() + ": creating the folder: " + error.message());
  }
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
  gathered_ += bytes;
  if (gathered_.size() >= kGathered) {
    flush();
  }
}

void PendingFile::finish() {
  flush();
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
  std::string_view rest = gathered_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      fail("writing");
    }
    rest.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  gathered_.clear();
}

void PendingFile::fail(std::string_view operation) const {
  throw RunError("write", path_.string() + ": " + std::string(operation) + ": " + std::strerror(errno));
}

}  // namespace samegrad
