// What is in a checkpoint, or in a folder of them, for people and for programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "samegrad/base/json.h"

namespace samegrad {

struct Inspection {
  Json json;          ///< what `checkpoints --json` prints
  std::string table;  ///< lines for a person, with a final newline
  std::int64_t damaged = 0;
};

/// Verifies `path` and says what it holds. A checkpoint (a step-<update> folder, or one with a manifest.json): update,
/// run id, complete or why not, files with sizes and digests, tensors of model and optimizer, optimizer options, the
/// sections of the config. Any other folder: the checkpoints in it, a line each; the JSON has the details. Throws
/// InputError where `path` is no folder that can be read. Local.
Inspection inspect_checkpoints(const std::filesystem::path& path);

}  // namespace samegrad
