// A finished folder takes its final name.
#pragma once

#include <cstdint>
#include <filesystem>

namespace samegrad {

/// How an existing folder makes way.
enum class ReplaceWay {
  kExchange,    ///< in one step (renameat2 with RENAME_EXCHANGE)
  kTwoRenames,  ///< for file systems without it: a crash between the two leaves the old one at `old_aside`
};

/// Renames `finished` to `final_path`. A folder already there ends at `finished` (kExchange) or `old_aside`
/// (kTwoRenames, or where the file system does not know the exchange). Returns where the old one is now; an empty path
/// where there was none. All are in one folder. Throws RunError; on failure `final_path` is what it was. `update` is
/// for the fault point between the two renames. Local.
std::filesystem::path place_folder(const std::filesystem::path& finished, const std::filesystem::path& final_path,
                                   const std::filesystem::path& old_aside, ReplaceWay way, std::int64_t update);

}  // namespace samegrad
