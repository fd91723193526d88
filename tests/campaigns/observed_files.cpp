#include "tests/campaigns/observed_files.h"

#include <array>

namespace samegrad {

using Kind = FileOperationKind;

const char* name_of(FileOperationKind kind) {
  constexpr std::array kNames = {"make folder", "open new",    "write",         "fsync",        "close", "rename",
                                 "exchange",    "remove file", "remove folder", "fsync folder", "list"};
  return kNames.at(static_cast<std::size_t>(kind));
}

int ObservedFiles::observed(const FileOperation& operation, const std::function<int()>& real) {
  if (before) {
    if (const int reason = before(operation); reason != 0) return reason;
  }
  const int reason = real();
  if (reason == 0 && after) after(operation);
  return reason;
}

int ObservedFiles::make_folder(const std::filesystem::path& folder) {
  return observed({Kind::kMakeFolder, folder, {}, {}}, [&] { return FileOperations::make_folder(folder); });
}

int ObservedFiles::open_new(const std::filesystem::path& file, int& descriptor) {
  return observed({Kind::kOpenNew, file, {}, {}}, [&] {
    const int reason = FileOperations::open_new(file, descriptor);
    if (reason == 0) open_[descriptor] = file;
    return reason;
  });
}

int ObservedFiles::write(int descriptor, std::string_view bytes) {
  bool asked = false;
  const int reason = observed({Kind::kWrite, open_[descriptor], {}, bytes}, [&] {
    asked = true;
    return FileOperations::write(descriptor, bytes);
  });
  if (!asked) FileOperations::write(descriptor, bytes.substr(0, bytes.size() / 2));
  return reason;
}

int ObservedFiles::fsync(int descriptor) {
  return observed({Kind::kFsync, open_[descriptor], {}, {}}, [&] { return FileOperations::fsync(descriptor); });
}

int ObservedFiles::close(int descriptor) {
  const int closed = FileOperations::close(descriptor);
  return observed({Kind::kClose, open_[descriptor], {}, {}}, [&] { return closed; });
}

int ObservedFiles::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return observed({Kind::kRename, from, to, {}}, [&] { return FileOperations::rename(from, to); });
}

int ObservedFiles::exchange(const std::filesystem::path& a, const std::filesystem::path& b) {
  return observed({Kind::kExchange, a, b, {}}, [&] { return FileOperations::exchange(a, b); });
}

int ObservedFiles::remove_file(const std::filesystem::path& file) {
  return observed({Kind::kRemoveFile, file, {}, {}}, [&] { return FileOperations::remove_file(file); });
}

int ObservedFiles::remove_folder(const std::filesystem::path& folder) {
  return observed({Kind::kRemoveFolder, folder, {}, {}}, [&] { return FileOperations::remove_folder(folder); });
}

int ObservedFiles::fsync_folder(const std::filesystem::path& folder) {
  return observed({Kind::kFsyncFolder, folder, {}, {}}, [&] { return FileOperations::fsync_folder(folder); });
}

int ObservedFiles::list(const std::filesystem::path& folder, std::vector<std::string>& names) {
  return observed({Kind::kList, folder, {}, {}}, [&] { return FileOperations::list(folder, names); });
}

}  // namespace samegrad
