#include "samegrad/report/utf8.h"

#include <cstddef>

namespace samegrad {
namespace {

// Length by the first byte; 0 for a byte that starts nothing.
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

bool allowed(char32_t code, std::size_t length) {
  if (length == 3) return code >= 0x800 && (code < 0xD800 || code > 0xDFFF);
  return length != 4 || (code >= 0x10000 && code <= 0x10FFFF);
}

}  // namespace

Utf8Character take_utf8(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = sequence_length(first);
  Utf8Character result{0, text.substr(0, 1), false};
  if (length != 0 && length <= text.size()) {
    char32_t code = length == 1 ? first : first & (0xFFU >> (length + 1));
    bool continued = true;
    for (std::size_t i = 1; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      continued = continued && (byte & 0xC0U) == 0x80U;
      code = (code << 6U) | (byte & 0x3FU);
    }
    if (continued && allowed(code, length)) result = {code, text.substr(0, length), true};
  }
  text.remove_prefix(result.bytes.size());
  return result;
}

}  // namespace samegrad
