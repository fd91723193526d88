// The types of number that parameters and gradients can have.
#pragma once

#include <cstdint>
#include <type_traits>

namespace samegrad {

enum class ElementType { kFloat32, kFloat64 };

/// The ElementType of float or double.
template <typename Element>
inline constexpr ElementType kElementTypeOf =
    std::is_same_v<std::remove_const_t<Element>, double> ? ElementType::kFloat64 : ElementType::kFloat32;

inline std::int64_t element_bytes(ElementType type) {
  return static_cast<std::int64_t>(type == ElementType::kFloat64 ? sizeof(double) : sizeof(float));
}

/// visit(float()) or visit(double()): code written once, compiled for both types. Local.
template <typename Visit>
decltype(auto) with_element_type(ElementType type, Visit&& visit) {
  return type == ElementType::kFloat64 ? visit(double{}) : visit(float{});
}

}  // namespace samegrad
