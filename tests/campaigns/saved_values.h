// Which of the small checkpoints lie in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace samegrad {

/// Update -> seed of the small checkpoint saved for it.
using SavedValues = std::map<std::int64_t, float>;

struct FoundCheckpoints {
  SavedValues values;                  ///< of the complete ones
  std::vector<std::string> problems;   ///< of the others
  std::optional<std::int64_t> latest;  ///< what find_latest() finds
};

/// Reads and verifies everything in `checkpoints` as a resume of run-a would. Local.
FoundCheckpoints found_checkpoints(const std::filesystem::path& checkpoints);

/// Names in `folder` that begin with a dot.
std::vector<std::string> hidden_names(const std::filesystem::path& folder);

/// "{2: 1, 4: 2}".
std::string text_of(const SavedValues& values);

}  // namespace samegrad
