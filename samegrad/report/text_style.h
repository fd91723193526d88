// How a text for a person is dressed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace samegrad {

struct TextStyle {
  bool colour = false;       ///< ANSI colours; base/log.h's log_uses_colour() knows NO_COLOR
  std::int64_t cells = 100;  ///< widest line
};

enum class Tone { kStrong, kGood, kBad };

/// `text` in the tone; unchanged where the style has no colour. Local.
std::string toned(std::string_view text, Tone tone, const TextStyle& style);

}  // namespace samegrad
