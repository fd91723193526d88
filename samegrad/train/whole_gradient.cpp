#include "samegrad/train/whole_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "samegrad/ddp/element_hash.h"
#include "samegrad/kernels/element_scan.h"
#include "samegrad/kernels/xxh3.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {
namespace {

constexpr std::size_t kBlockElements = 4096;
static_assert(kBlockElements <= kHashBlock);

/// The elements without gaps, in blocks of kBlockElements; the last may be shorter. A block lies in `flat` itself, or
/// in a copy where a gap goes through it.
template <typename Visit>
void for_each_block(const FlatLayout& layout, std::span<const float> flat, const Visit& visit) {
  std::array<float, kBlockElements> block;
  std::size_t filled = 0;
  const auto visit_run = [&](std::span<const float> run) {
    while (!run.empty()) {
      const std::size_t count = std::min(run.size(), kBlockElements - filled);
      if (count == kBlockElements) {
        visit(run.first(count));
      } else {
        std::ranges::copy(run.first(count), block.begin() + static_cast<std::ptrdiff_t>(filled));
        filled += count;
        if (filled == kBlockElements) {
          visit(std::span<const float>(block));
          filled = 0;
        }
      }
      run = run.subspan(count);
    }
  };
  std::size_t begin = 0;  // of the places since the last gap
  std::size_t end = 0;
  for (const ParameterPlace& place : layout.places()) {
    const auto offset = static_cast<std::size_t>(place.offset);
    if (offset != end) {
      visit_run(flat.subspan(begin, end - begin));
      begin = offset;
    }
    end = offset + static_cast<std::size_t>(place.elements);
  }
  visit_run(flat.subspan(begin, end - begin));
  if (filled > 0) visit(std::span<const float>(block).first(filled));
}

}  // namespace

NormAndHash norm_and_hash(const FlatLayout& layout, std::span<const float> flat) {
  std::vector<double> sums;
  sums.reserve(static_cast<std::size_t>(layout.parameter_elements()) / kBlockElements + 1);
  Xxh3 hash;
  for_each_block(layout, flat, [&](std::span<const float> block) {
    std::array<double, kSquareLanes> lanes;
    square_sums(block.data(), static_cast<std::int64_t>(block.size()), lanes.data());
    sums.push_back(tree_sum(lanes));
    if (std::isnan(sums.back())) {
      add_with_nans(hash, block);
    } else {
      hash.update(bytes_of(block));
    }
  });
  return {std::sqrt(tree_sum(sums)), hash.hex()};
}

std::string elements_hash(const FlatLayout& layout, std::span<const float> flat) {
  Xxh3 hash;
  for (const ParameterPlace& place : layout.places()) {
    add_elements(hash, flat.subspan(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.elements)));
  }
  return hash.hex();
}

double clip_factor(double norm, double max_norm) { return max_norm > 0.0 && norm > max_norm ? max_norm / norm : 1.0; }

}  // namespace samegrad
