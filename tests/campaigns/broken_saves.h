// Saves as they must not be done: what the campaigns must catch.
#pragma once

#include <cstdint>
#include <filesystem>

#include "samegrad/base/file_operations.h"

namespace samegrad {

enum class BrokenSave {
  kRemoveBeforeRename,    ///< the older folder of that name goes before the new one takes the name
  kManifestFirstInPlace,  ///< under the final name from the start, the manifest before what it lists
};

/// Saves the small checkpoint of `seed` in a broken way. Throws RunError, and then leaves what there is. Local.
void broken_save(FileOperations& files, const std::filesystem::path& checkpoints, std::int64_t update, float seed,
                 BrokenSave way);

}  // namespace samegrad
