// What ranks over Gloo leave in the rendezvous store: how each ended, and the one story of why the run failed.
#pragma once

#include <string>
#include <string_view>

namespace samegrad {

/// The value begins with one of the two words; after the second, a line further, why.
inline std::string gloo_end_key(int rank) { return "end/" + std::to_string(rank); }
inline constexpr std::string_view kGlooLeft = "left";
inline constexpr std::string_view kGlooFailed = "failed";

inline constexpr const char* kGlooStoryKey = "story";

}  // namespace samegrad
