#include "samegrad/checkpoint/printable.h"

#include "samegrad/base/json.h"

namespace samegrad {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  const bool cut = text.size() > kLongest;
  const std::string quoted =
      Json(text.substr(0, kLongest)).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2) + (cut ? "..." : "");
}

}  // namespace samegrad
