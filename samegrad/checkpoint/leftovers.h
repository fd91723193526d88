// What processes that are gone have left in a folder of checkpoints.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "samegrad/base/file_operations.h"

namespace samegrad {

/// Removes what is hidden in `checkpoints` and whose process is gone (is_left_over() of base/name_owner.h): half
/// written saves, replaced and removed checkpoints, and what a look whether the folder can be written to has left.
/// `names` is what is there. A replaced one whose successor never came gets its name back. What cannot be removed
/// stays: the next save tries again. Before that the names are fsynced: another name of what is removed here may still
/// be the one on the disk. Returns 0, or the errno of that fsync, and then nothing was removed. Local.
int remove_leftovers(FileOperations& files, const std::filesystem::path& checkpoints,
                     const std::vector<std::string>& names, std::time_t now = std::time(nullptr));

}  // namespace samegrad
