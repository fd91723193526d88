#include "samegrad/train/whole_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {
namespace {

constexpr std::size_t kBlockElements = 4096;
constexpr std::size_t kLanes = 8;

std::vector<float> without_gaps(const FlatLayout& layout, std::span<const float> flat) {
  std::vector<float> elements(static_cast<std::size_t>(layout.parameter_elements()));
  auto out = elements.begin();
  for (const ParameterPlace& place : layout.places())
    out = std::copy_n(flat.begin() + place.offset, place.elements, out);
  return elements;
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
  const std::vector<float> elements = without_gaps(layout, flat);
  std::vector<double> blocks;
  for (std::size_t begin = 0; begin < elements.size(); begin += kBlockElements) {
    blocks.push_back(
        block_square_sum(std::span(elements).subspan(begin, std::min(kBlockElements, elements.size() - begin))));
  }
  return std::sqrt(tree_sum(blocks));
}

std::string elements_hash(const FlatLayout& layout, std::span<const float> flat) {
  std::vector<float> elements = without_gaps(layout, flat);
  for (float& value : elements) {
    if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  }
  return xxh3_128_hex({reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)});
}

double clip_by_norm(std::span<float> flat, double norm, double max_norm) {
  if (max_norm <= 0.0 || !(norm > max_norm)) return 1.0;
  const double factor = max_norm / norm;
  for (float& value : flat) value = static_cast<float>(static_cast<double>(value) * factor);
  return factor;
}

}  // namespace samegrad
