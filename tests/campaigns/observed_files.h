// The real file system, with a look at every operation before and after it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/file_operations.h"

namespace samegrad {

enum class FileOperationKind {
  kMakeFolder,
  kOpenNew,
  kWrite,
  kFsync,
  kClose,
  kRename,
  kExchange,
  kRemoveFile,
  kRemoveFolder,
  kFsyncFolder,
  kList
};

const char* name_of(FileOperationKind kind);

struct FileOperation {
  FileOperationKind kind = FileOperationKind::kList;
  std::filesystem::path path;   ///< of a descriptor: the name with which the file was made
  std::filesystem::path other;  ///< where rename leads, and the other name of an exchange
  std::string_view bytes;       ///< of a write; valid during the call
};

class ObservedFiles : public FileOperations {
 public:
  /// 0: the operation takes place. Else it fails with that errno: a write leaves half of its bytes, a file is closed
  /// nevertheless, the others do nothing.
  std::function<int(const FileOperation&)> before;
  /// After an operation that took place and succeeded.
  std::function<void(const FileOperation&)> after;

  int make_folder(const std::filesystem::path& folder) override;
  int open_new(const std::filesystem::path& file, int& descriptor) override;
  int write(int descriptor, std::string_view bytes) override;
  int fsync(int descriptor) override;
  int close(int descriptor) override;
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  int exchange(const std::filesystem::path& a, const std::filesystem::path& b) override;
  int remove_file(const std::filesystem::path& file) override;
  int remove_folder(const std::filesystem::path& folder) override;
  int fsync_folder(const std::filesystem::path& folder) override;
  int list(const std::filesystem::path& folder, std::vector<std::string>& names) override;

 private:
  int observed(const FileOperation& operation, const std::function<int()>& real);

  std::map<int, std::filesystem::path> open_;
};

}  // namespace samegrad
