// What is to be known of many elements before anything is done with them: their squares' sum, whether one is NaN.
#pragma once

#include <cstdint>

namespace samegrad {

inline constexpr std::int64_t kSquareLanes = 8;

/// lanes[l] = the sum of value^2 over the elements i with i mod 8 = l, each converted to double first, in ascending
/// order, from +0. NaN where an element of the lane is, and only then. Local.
void square_sums(const float* values, std::int64_t count, double* lanes);

/// Whether one of `count` elements is NaN. Local.
bool any_nan(const float* values, std::int64_t count);
bool any_nan(const double* values, std::int64_t count);

}  // namespace samegrad
