// Why a call cannot succeed, as the first rank that found out tells it: every rank throws the same line, so that a run
// that fails has one story.
#pragma once

#include <string>
#include <string_view>

namespace samegrad {

struct PeerStory {
  int culprit_rank = -1;  ///< -1: no single rank is to blame, such as for calls that differ
  std::string text;       ///< without the "[stage]"
};

/// A longer text is cut.
inline constexpr std::size_t kLongestStory = 2'047;

/// Throws PeerError naming the culprit; RunError where it is this rank, `my_rank`, or no single one. Local.
[[noreturn]] void throw_story(const PeerStory& story, int my_rank, std::string_view stage = "comm");

/// One text for a rendezvous store, and back; the second takes anything. Local.
std::string story_to_text(const PeerStory& story);
PeerStory story_from_text(std::string_view text);

}  // namespace samegrad
