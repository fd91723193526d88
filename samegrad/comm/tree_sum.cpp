#include "samegrad/comm/tree_sum.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "samegrad/base/check.h"
#include "samegrad/comm/cache_lines.h"
#include "samegrad/kernels/gradient_sum.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

/// Elements: a few rows of doubles are a part of a core's first cache.
constexpr std::int64_t kBlock = 1'024;

/// A block of +0.
template <typename Element>
constinit const std::array<Element, kBlock> kZeros{};

void add(const float* left, const float* right, float* sum, std::int64_t count) { add_floats(left, right, sum, count); }
void add(const double* left, const double* right, double* sum, std::int64_t count) {
  add_doubles(left, right, sum, count);
}

}  // namespace

template <typename Element>
TreeSum<Element>::TreeSum(std::span<const AtomRange> leaves) : leaves_(leaves.size()) {
  SAMEGRAD_CHECK_OP(leaves.size(), >, 0U);
  std::size_t next = 0;
  add_steps(leaves, {0, leaves.back().end}, next, 0);
  SAMEGRAD_CHECK_OP(next, ==, leaves.size());
  std::size_t rows = 0;
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) rows = std::max(rows, steps_[i].row + 1);
  rows_.resize(rows * static_cast<std::size_t>(kBlock));  // the last sum goes to a result
}

/// Steps for T(node), whose rows begin with `row`; `next` is the leftmost leaf not yet used. Returns where the sum is.
template <typename Element>
std::size_t TreeSum<Element>::add_steps(std::span<const AtomRange> leaves, AtomRange node, std::size_t& next,
                                        std::size_t row) {
  SAMEGRAD_CHECK_OP(next, <, leaves.size());
  if (leaves[next] == node) return next++;
  SAMEGRAD_CHECK_OP(node.size(), >=, 2);
  const std::int64_t middle = node.begin + tree_split(node.size());
  const std::size_t left = add_steps(leaves, {node.begin, middle}, next, row);
  const std::size_t right = add_steps(leaves, {middle, node.end}, next, left < leaves_ ? row : row + 1);
  steps_.push_back({left, right, row});
  return leaves_ + row;
}

template <typename Element>
void TreeSum<Element>::run(std::span<const Element* const> leaves, std::span<Element* const> results,
                           std::int64_t count, double divisor) {
  SAMEGRAD_CHECK_OP(leaves.size(), ==, leaves_);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    run_block(leaves, results, begin, std::min(kBlock, count - begin), divisor);
  }
}

template <typename Element>
void TreeSum<Element>::run_block(std::span<const Element* const> leaves, std::span<Element* const> results,
                                 std::int64_t begin, std::int64_t count, double divisor) {
  const auto row = [&](std::size_t index) { return rows_.data() + index * static_cast<std::size_t>(kBlock); };
  const auto operand = [&](std::size_t index) -> const Element* {
    if (index >= leaves_) return row(index - leaves_);
    return leaves[index] != nullptr ? leaves[index] + begin : kZeros<Element>.data();
  };
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Element);
  for (Element* const other : results.subspan(1)) prefetch_for_writing(other + begin, bytes);
  Element* const first = results.front() + begin;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const bool last = i + 1 == steps_.size();
    add(operand(steps_[i].left), operand(steps_[i].right), last ? first : row(steps_[i].row), count);
  }
  if (steps_.empty() && operand(0) != first) std::memcpy(first, operand(0), bytes);
  divide_gradient(first, count, divisor);
  for (Element* const other : results.subspan(1)) std::memcpy(other + begin, first, bytes);
}

template class TreeSum<float>;
template class TreeSum<double>;

}  // namespace samegrad
