#include "samegrad/checkpoint/printable.h"

namespace samegrad {
namespace {

constexpr std::size_t kLongest = 200;

std::string ascii(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

std::string printable(std::string_view text) {
  const bool cut = text.size() > kLongest;
  const std::string quoted = ascii(text.substr(0, kLongest));
  return quoted.substr(1, quoted.size() - 2) + (cut ? "..." : "");
}

std::string printable_json(const Json& value) {
  const std::string text = ascii(value);
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

}  // namespace samegrad
