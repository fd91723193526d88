#include "samegrad/base/atomic_file.h"

#include <sys/statvfs.h>

#include <cstring>
#include <string>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/temporary_name.h"

namespace samegrad {
namespace {

std::string free_bytes_text(const std::filesystem::path& folder) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) {
    return "an unknown number of";
  }
  return std::to_string(static_cast<unsigned long long>(info.f_bavail) * info.f_frsize);
}

/// The file being written: closed and removed unless `renamed`.
struct TemporaryFile {
  FileOperations& files;
  std::filesystem::path path;
  int descriptor = -1;
  bool renamed = false;

  TemporaryFile(FileOperations& with, std::filesystem::path where) : files(with), path(std::move(where)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor >= 0) {
      files.close(descriptor);
    }
    if (!renamed) {
      files.remove_file(path);
    }
  }
};

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes, FileOperations& files) {
  const std::filesystem::path target = std::filesystem::absolute(path);
  const std::filesystem::path folder = target.parent_path();
  const auto check = [&](int reason, std::string_view operation) {
    if (reason == 0) return;
    throw RunError("write", target.string() + ": " + std::string(operation) + ": " + std::strerror(reason) +
                                "; needs " + std::to_string(bytes.size()) + " bytes, " + free_bytes_text(folder) +
                                " bytes are free there");
  };
  check(make_folders(files, folder), "creating the folder");
  check(remove_left_temporaries(target, files), "reading the folder");
  TemporaryFile temporary(files, temporary_path(target));
  check(files.open_new(temporary.path, temporary.descriptor), "opening a temporary file beside it");
  check(files.write(temporary.descriptor, bytes), "writing");
  check(files.fsync(temporary.descriptor), "fsync");
  check(files.close(std::exchange(temporary.descriptor, -1)), "closing");
  check(files.rename(temporary.path, target), "renaming");
  temporary.renamed = true;
  check(files.fsync_folder(folder), "fsync of the folder");
}

void fsync_folder(const std::filesystem::path& folder) {
  if (const int reason = real_files().fsync_folder(folder); reason != 0) {
    throw RunError("write", folder.string() + ": fsync of the folder: " + std::strerror(reason));
  }
}

}  // namespace samegrad
