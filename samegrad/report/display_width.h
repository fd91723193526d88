// How many terminal cells a UTF-8 text takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace samegrad {

/// One character as a terminal shows it.
struct DisplayCharacter {
  std::string bytes;       ///< its UTF-8
  std::int64_t cells = 1;  ///< 0 combining, 1, or 2 (East Asian wide, emoji)
};

/// The characters of `text`. Bytes that are no UTF-8 and control characters become U+FFFD, so that no text from a
/// file can steer the terminal. Local.
std::vector<DisplayCharacter> display_characters(std::string_view text);

/// Cells of the whole text. Local.
std::int64_t display_width(std::string_view text);

}  // namespace samegrad
