// The bytes of numbers as a hash takes them (docs/exactness.md, rule 5).
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "samegrad/base/digest.h"

namespace samegrad {

/// Adds the elements' bytes; every NaN counts as the same one. Local.
template <typename Element>
void add_elements(Xxh3& hash, std::span<const Element> elements) {
  std::array<Element, 4096> block;
  while (!elements.empty()) {
    const std::size_t count = std::min(elements.size(), block.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Element value = elements[i];
      block[i] = value != value ? std::numeric_limits<Element>::quiet_NaN() : value;
    }
    hash.update({reinterpret_cast<const char*>(block.data()), count * sizeof(Element)});
    elements = elements.subspan(count);
  }
}

}  // namespace samegrad
