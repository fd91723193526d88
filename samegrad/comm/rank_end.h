// What ranks that meet in a rendezvous store, or talk over Gloo, leave in it: how each ended, and the one story of why
// they failed.
#pragma once

#include <string>
#include <string_view>

namespace samegrad {

/// The value begins with one of the two words; after the second, a line further, why.
inline std::string end_key(int rank) { return "end/" + std::to_string(rank); }
inline constexpr std::string_view kRankLeft = "left";
inline constexpr std::string_view kRankFailed = "failed";

inline constexpr const char* kStoryKey = "story";

}  // namespace samegrad
