#include "samegrad/data/utf8.h"

#include <simdjson.h>

#include <algorithm>

namespace samegrad {

bool is_valid_utf8(std::string_view bytes) { return simdjson::validate_utf8(bytes); }

std::size_t unfinished_utf8_tail(std::string_view bytes) {
  const std::size_t most = std::min<std::size_t>(3, bytes.size());
  for (std::size_t back = 1; back <= most; ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if (byte < 0x80) {
      return 0;
    }
    if (byte >= 0xC0) {
      const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
      return back < length ? back : 0;
    }
  }
  return 0;
}

}  // namespace samegrad
