// What a rank brings to a window, as a user writes it: ddp.window({.count = n, .atoms = atoms.size()}).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/comm/agreement.h"
#include "samegrad/ddp/count.h"
#include "samegrad/ddp/loss_term.h"

namespace samegrad {

struct WindowRequest {
  Count count = 0;  ///< supervised units of this rank's atoms: N is the sum over ranks
  Count atoms = 0;  ///< this rank's; ranks may bring different numbers, also 0
  /// Given, at most 8: the loss has these terms, and `count` and `atom_weights` stay away. A callable then returns a
  /// vector of sums, one for each in this order; an undefined tensor where the atom has none of it.
  std::vector<LossTerm> terms = {};
  /// What all ranks do where N = 0; of a loss of terms, where none of them has units, whatever their own policies.
  EmptyWindowPolicy empty_window = EmptyWindowPolicy::kError;
  /// Given, one for each of this rank's atoms: N is their sum over all atoms, by the tree, instead of `count`'s. An
  /// atom that weighs 0 is run like others.
  std::optional<std::vector<double>> atom_weights = std::nullopt;
  /// Given: ATen's default CPU generator is keyed by it, update and atom before each atom, for modules that draw from
  /// it. The same on all ranks, which compare it.
  std::optional<std::uint64_t> generator_seed = std::nullopt;
  std::int64_t update = 0;       ///< the update that the window makes, from 1; the same on all ranks
  std::string_view digest = {};  ///< of plan and config, at most 64 characters; the same on all ranks
  bool stop_asked = false;       ///< all ranks stop where any asks
  bool save_asked = false;       ///< all ranks learn it where any asks (WindowDecision::save_asked)
  std::string failure = {};      ///< "" or the line with which this rank failed before the window
  int failure_exit_code = 1;     ///< of that failure (base/error.h)
  /// "" or what of the model has changed since all ranks agreed on it; the same on all ranks. DataParallel sets it.
  std::string model_change = {};
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
