// Decoding UTF-8 one character at a time, for text that is shown.
#pragma once

#include <string_view>

namespace samegrad {

struct Utf8Character {
  char32_t code = 0;
  std::string_view bytes;
  bool valid = false;
};

/// Takes the first character off `text` (not empty). One byte, not valid, where it begins with no well-formed UTF-8
/// (RFC 3629: overlong forms, surrogates and codes above U+10FFFF are not). Local.
Utf8Character take_utf8(std::string_view& text);

}  // namespace samegrad
