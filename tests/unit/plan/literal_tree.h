// The tree of docs/exactness.md written out by its definition, apart from the product's own code: what tests expect.
#pragma once

#include <cstddef>
#include <vector>

namespace samegrad::testing {

inline double sum_of(double left, double right) { return left + right; }

template <typename Element>
std::vector<Element> sum_of(std::vector<Element> left, const std::vector<Element>& right) {
  for (std::size_t k = 0; k < left.size(); ++k) left[k] = left[k] + right[k];
  return left;
}

/// T(i, j) over numbers, or over vectors component by component: p by doubling, then T(i, i + p) + T(i + p, j).
template <typename Value>
Value literal_tree(const std::vector<Value>& values, std::size_t i, std::size_t j) {
  if (j - i == 1) return values[i];
  std::size_t p = 1;
  while (2 * p < j - i) p *= 2;
  return sum_of(literal_tree(values, i, i + p), literal_tree(values, i + p, j));
}

}  // namespace samegrad::testing
