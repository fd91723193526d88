// What processes that are gone have left in a folder of checkpoints.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "samegrad/base/file_operations.h"

namespace samegrad {

/// Removes hidden folders in `checkpoints` whose process is gone: half written saves, replaced and removed checkpoints.
/// `names` is what is there. A replaced one whose successor never came gets its name back. What cannot be removed
/// stays: the next save tries again. Before that the names are fsynced: another name of what is removed here may still
/// be the one on the disk. Returns 0, or the errno of that fsync, and then nothing was removed. Local.
int remove_leftovers(FileOperations& files, const std::filesystem::path& checkpoints,
                     const std::vector<std::string>& names);

}  // namespace samegrad
