// A number of things, from any type of integer.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

namespace samegrad {

/// A number of things from any type of integer, size_t too. One that is negative or above 2^63 - 1 is kept as it is,
/// and refused where all ranks can refuse it together.
class Count {
 public:
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) constexpr Count(
      Integer value)  // NOLINT(google-explicit-constructor): for `.atoms = atoms.size()`
      : value_(static_cast<std::int64_t>(value)), above_(value > 0 && !std::in_range<std::int64_t>(value)) {}

  /// Requires fits(). Local.
  constexpr std::int64_t value() const { return value_; }
  /// Whether it is in 0..2^63 - 1. Local.
  constexpr bool fits() const { return !above_ && value_ >= 0; }
  /// As it was given. Local.
  std::string text() const {
    return above_ ? std::to_string(static_cast<std::uint64_t>(value_)) : std::to_string(value_);
  }

 private:
  std::int64_t value_;
  bool above_;
};

}  // namespace samegrad
