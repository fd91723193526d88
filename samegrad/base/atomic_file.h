// A file appears whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "samegrad/base/file_operations.h"

namespace samegrad {

/// Writes `bytes` to a temporary file beside `path`, fsyncs it, renames it over `path` and fsyncs the folder. Creates
/// missing parent folders, and removes the temporary files of `path` that killed processes left. On failure the
/// temporary file is removed, the old file stays, and RunError names path, operation, reason, bytes needed and bytes
/// free. Local.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                           FileOperations& files = real_files());

/// fsyncs a folder, so that renames inside it survive a power loss. Throws RunError. Local.
void fsync_folder(const std::filesystem::path& folder);

}  // namespace samegrad
