// What a rank brings to a window, as a user writes it: ddp.window({.count = n, .atoms = atoms.size()}).
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "samegrad/comm/agreement.h"

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

struct WindowRequest {
  Count count = 0;  ///< supervised units of this rank's atoms: N is the sum over ranks
  Count atoms = 0;  ///< this rank's; ranks may bring different numbers, also 0
  /// What all ranks do where N = 0.
  EmptyWindowPolicy empty_window = EmptyWindowPolicy::kError;
  /// Given, one for each of this rank's atoms: N is their sum over all atoms, by the tree, instead of `count`'s.
  std::optional<std::vector<double>> atom_weights = std::nullopt;
  /// Given: ATen's default CPU generator is keyed by it, update and atom before each atom, for modules that draw from
  /// it. The same on all ranks.
  std::optional<std::uint64_t> generator_seed = std::nullopt;
  std::int64_t update = 0;       ///< the update that the window makes, from 1; the same on all ranks
  std::string_view digest = {};  ///< of plan and config, at most 64 characters; the same on all ranks
  bool stop_asked = false;       ///< all ranks stop where any asks
  std::string failure = {};      ///< "" or the line with which this rank failed before the window
  int failure_exit_code = 1;     ///< of that failure (base/error.h)
};

/// What DistributedDataParallel decides for all of its windows.
struct WindowOptions {
  std::chrono::milliseconds timeout{1'800'000};  ///< bounds each wait for another rank
  /// A parameter that no atom of any rank used: false: an error on all ranks; true: its .grad is undefined after
  /// reduce(), so that an optimizer passes over it.
  bool find_unused_parameters = false;
};

/// What goes to the other ranks; numbers that cannot be a window's are a failure. `parameters` is
/// ParameterSet::digest(). Local.
AgreementRecord record_of(const WindowRequest& request, std::string_view parameters, int rank);

}  // namespace samegrad
