// Whether bytes are valid UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <string_view>

namespace samegrad {

bool is_valid_utf8(std::string_view bytes);

/// Bytes at the end of `bytes` (0..3) that begin a character which further bytes would complete.
std::size_t unfinished_utf8_tail(std::string_view bytes);

}  // namespace samegrad
