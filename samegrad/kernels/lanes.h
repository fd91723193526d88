// Sixteen floats, or eight doubles, as one value: the compiler makes one, two or four registers of it. Arithmetic in
// lanes is the same for every set of instructions but for contraction (-ffp-contract), which a kernel file may ask for.
//
// For kernel files only (isa.h): everything here is forced inline, so that no object exports a copy.
#pragma once

#include <cstdint>

namespace samegrad {

using FloatLanes [[gnu::vector_size(64)]] = float;
using DoubleLanes [[gnu::vector_size(64)]] = double;
using IntLanes [[gnu::vector_size(64)]] = std::int32_t;

inline constexpr std::int64_t kFloatLanes = 16;
inline constexpr std::int64_t kDoubleLanes = 8;

/// Reads or writes one value of lanes at any address.
[[gnu::always_inline]] static inline FloatLanes load(const float* from) {
  FloatLanes lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
[[gnu::always_inline]] static inline DoubleLanes load(const double* from) {
  DoubleLanes lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
[[gnu::always_inline]] static inline void store(float* to, FloatLanes lanes) {
  __builtin_memcpy(to, &lanes, sizeof lanes);
}
[[gnu::always_inline]] static inline void store(double* to, DoubleLanes lanes) {
  __builtin_memcpy(to, &lanes, sizeof lanes);
}

}  // namespace samegrad
