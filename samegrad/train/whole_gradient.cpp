#include "samegrad/train/whole_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/ddp/element_hash.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {
namespace {

constexpr std::size_t kBlockElements = 4096;
constexpr std::size_t kLanes = 8;

/// The elements without gaps, in blocks of kBlockElements; the last may be shorter.
template <typename Visit>
void for_each_block(const FlatLayout& layout, std::span<const float> flat, const Visit& visit) {
  std::array<float, kBlockElements> block;
  std::size_t filled = 0;
  for (const ParameterPlace& place : layout.places()) {
    std::span<const float> rest =
        flat.subspan(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.elements));
    while (!rest.empty()) {
      const std::size_t count = std::min(rest.size(), kBlockElements - filled);
      std::copy_n(rest.begin(), count, block.begin() + static_cast<std::ptrdiff_t>(filled));
      rest = rest.subspan(count);
      filled += count;
      if (filled == kBlockElements) {
        visit(std::span(block));
        filled = 0;
      }
    }
  }
  if (filled > 0) visit(std::span(block).first(filled));
}

// Element i goes to lane i mod 8, the lanes are added by T: a fixed order that a compiler can vectorise.
double block_square_sum(std::span<const float> block) {
  std::array<double, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(block[i + lane]);
      lanes[lane] += value * value;
    }
  }
  for (; i < block.size(); ++i) lanes[i % kLanes] += static_cast<double>(block[i]) * static_cast<double>(block[i]);
  return tree_sum(lanes);
}

}  // namespace

double euclidean_norm(const FlatLayout& layout, std::span<const float> flat) {
  std::vector<double> sums;
  for_each_block(layout, flat, [&](std::span<const float> block) { sums.push_back(block_square_sum(block)); });
  return std::sqrt(tree_sum(sums));
}

std::string elements_hash(const FlatLayout& layout, std::span<const float> flat) {
  Xxh3 hash;
  for (const ParameterPlace& place : layout.places()) {
    add_elements(hash, flat.subspan(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.elements)));
  }
  return hash.hex();
}

double clip_by_norm(std::span<float> flat, double norm, double max_norm) {
  if (max_norm <= 0.0 || !(norm > max_norm)) return 1.0;
  const double factor = max_norm / norm;
  for (float& value : flat) value = static_cast<float>(static_cast<double>(value) * factor);
  return factor;
}

}  // namespace samegrad
