// The bytes of numbers as a hash takes them: as they lie in memory, but for NaNs, which all count as one.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "samegrad/kernels/element_scan.h"
#include "samegrad/kernels/xxh3.h"

namespace samegrad {

/// Elements that are looked at together: few enough to stay in the first cache.
inline constexpr std::size_t kHashBlock = 4096;

/// The bytes as they lie in memory.
template <typename Element>
std::string_view bytes_of(std::span<const Element> elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size_bytes()};
}

/// Adds the bytes of at most kHashBlock elements, every NaN as the same one. Local.
template <typename Element>
void add_with_nans(Xxh3& hash, std::span<const Element> elements) {
  std::array<Element, kHashBlock> block;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Element value = elements[i];
    block[i] = value != value ? std::numeric_limits<Element>::quiet_NaN() : value;
  }
  hash.update(bytes_of(std::span<const Element>(block).first(elements.size())));
}

/// Adds the elements' bytes; every NaN counts as the same one. Local.
template <typename Element>
void add_elements(Xxh3& hash, std::span<const Element> elements) {
  while (!elements.empty()) {
    const std::span<const Element> block = elements.first(std::min(elements.size(), kHashBlock));
    elements = elements.subspan(block.size());
    if constexpr (std::same_as<Element, float> || std::same_as<Element, double>) {
      if (!any_nan(block.data(), static_cast<std::int64_t>(block.size()))) {
        hash.update(bytes_of(block));
        continue;
      }
    }
    add_with_nans(hash, block);
  }
}

}  // namespace samegrad
