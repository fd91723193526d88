// Which mistake the broken worker has.
#pragma once

#include <cstdlib>
#include <string_view>

/// Whether SAMEGRAD_BROKEN names this mistake.
inline bool broken(std::string_view mistake) {
  const char* chosen = std::getenv("SAMEGRAD_BROKEN");
  return chosen != nullptr && mistake == chosen;
}
