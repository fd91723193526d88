#include "samegrad/comm/peer_story.h"

#include <algorithm>
#include <charconv>

#include "samegrad/base/error.h"

namespace samegrad {

void throw_story(const PeerStory& story, int my_rank, std::string_view stage) {
  if (story.culprit_rank < 0 || story.culprit_rank == my_rank) {
    throw RunError(stage, story.text);
  }
  throw PeerError(stage, story.text, story.culprit_rank);
}

std::string story_to_text(const PeerStory& story) {
  return std::to_string(story.culprit_rank) + "\n" + story.text.substr(0, kLongestStory);
}

PeerStory story_from_text(std::string_view text) {
  PeerStory story;
  const std::size_t line = std::min(text.find('\n'), text.size());
  std::from_chars(text.data(), text.data() + line, story.culprit_rank);
  story.text = text.substr(std::min(line + 1, text.size()));
  return story;
}

}  // namespace samegrad
