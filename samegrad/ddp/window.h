// One update's worth of atoms, exactly: an agreement of all ranks before the first backward, each atom's gradient
// computed alone, one exchange, one division (docs/exactness.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/comm/agreement.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/ddp/window_buffers.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// What this rank brings to the agreement.
struct WindowRequest {
  std::int64_t update = 0;            ///< the update that the window makes, from 1
  std::int64_t atoms_in_window = 0;   ///< A, the same on all ranks
  std::int64_t supervised_units = 0;  ///< of this rank's atoms
  /// Given: N is the sum of these weights of this rank's atoms, in order, instead of the number of units.
  std::optional<std::vector<double>> atom_weights = std::nullopt;
  std::string_view digest;  ///< of plan and config, at most 64 characters, the same on all ranks
  EmptyWindowPolicy empty_window = EmptyWindowPolicy::kError;
  bool stop_asked = false;
  std::string failure;        ///< "" or the line with which this rank failed before the window
  int failure_exit_code = 1;  ///< of that failure
  std::chrono::milliseconds timeout{1'800'000};
  /// Given: ATen's default CPU generator is keyed before each atom, for modules that draw from it.
  std::optional<std::uint64_t> generator_seed = std::nullopt;
};

/// Seconds that this rank spent in a window.
struct WindowSeconds {
  double compute = 0.0;   ///< forward and backward
  double wait = 0.0;      ///< until the slowest rank had arrived
  double exchange = 0.0;  ///< moving and adding gradients
};

class Window {
 public:
  /// Agrees with all ranks; nothing is computed before. `parameters`, `pool` and `comm` must outlive the window. A
  /// weight that is negative or not finite, or a number of weights that is not that of the rank's atoms, is refused on
  /// all ranks. Collective.
  Window(FlatParameters& parameters, GradientBufferPool& pool, Communicator& comm, WindowRequest request,
         std::vector<NamedBuffer> buffers = {});
  /// Where a window that should train was left before reduce(), enters the exchange flagged, so that the other ranks
  /// leave by an error too. Collective in that case.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// What all ranks decided: only under kTrain may backward() and reduce() be called.
  const WindowDecision& decision() const { return decision_; }
  /// This rank's atoms. Local.
  AtomRange atoms() const { return ranges_[static_cast<std::size_t>(comm_->rank())]; }

  /// Runs `loss_sum` (forward; returns the sum of the losses of atom `atom`) and its backward into a gradient of +0.
  /// Every atom of atoms() once, in ascending order; with `units` = 0, or a weight of 0, nothing is run. An exception
  /// of `loss_sum` is kept and reported by reduce() on every rank. Local.
  void backward(std::int64_t atom, std::int64_t units, const std::function<at::Tensor()>& loss_sum);

  /// The exchange: afterwards every parameter's .grad holds the gradient of S/N, the same bits on every rank and for
  /// every number of ranks, and the buffers what WindowBuffers::reduce says. Returns S and N. Throws the same error on
  /// every rank where any rank failed. Collective.
  LossSum reduce();

  /// The flat gradient after reduce(). Requires the parameters' own type. Local.
  template <typename Element = float>
  std::span<Element> gradient() {
    return gradient_->values.span<Element>();
  }
  /// S_a of this rank's atoms, in order. Local.
  const std::vector<double>& local_loss_sums() const { return local_loss_sums_; }
  const WindowSeconds& seconds() const { return seconds_; }
  const ExchangeVolume& volume() const { return volume_; }

 private:
  CallLabel label(std::string_view name) const { return {name, update_, timeout_}; }
  bool has_work(std::int64_t units) const;
  std::vector<double> gather_by_atom(std::span<const double> mine, std::string_view name);

  FlatParameters* parameters_;
  GradientBufferPool* pool_;
  Communicator* comm_;
  std::int64_t update_;
  std::chrono::milliseconds timeout_;
  WindowDecision decision_;
  std::vector<AtomRange> ranges_;
  SubtreeStack subtrees_;
  std::unique_ptr<GradientBuffer> gradient_;
  std::vector<double> local_loss_sums_;
  std::optional<std::vector<double>> atom_weights_;
  std::optional<std::uint64_t> generator_seed_;
  WindowBuffers buffers_;
  std::string failure_;
  int failure_code_ = 0;
  bool left_ = false;
  WindowSeconds seconds_;
  ExchangeVolume volume_;
};

}  // namespace samegrad
