// One update's worth of atoms, exactly: an agreement of all ranks before the first backward, each atom's gradient
// computed alone, one exchange, one division (docs/exactness.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/ddp/loss_terms.h"
#include "samegrad/ddp/parameter_set.h"
#include "samegrad/ddp/value_mark.h"
#include "samegrad/ddp/window_buffers.h"
#include "samegrad/ddp/window_request.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// Seconds that this rank spent in a window.
struct WindowSeconds {
  double compute = 0.0;   ///< forward and backward
  double wait = 0.0;      ///< until the slowest rank had arrived
  double exchange = 0.0;  ///< moving and adding gradients
};

class Window {
 public:
  /// Agrees with all ranks; nothing is computed before. Throws the same error on every rank where any rank failed or
  /// brought numbers that cannot be a window's, where ranks differ in what must be the same, and (EmptyWindowError) for
  /// N = 0 under EmptyWindowPolicy::kError. `parameters`, `pool` and `comm` must outlive the window. Collective.
  Window(const ParameterSet& parameters, GradientBufferPool& pool, Communicator& comm, const WindowRequest& request,
         std::vector<NamedTensor> buffers = {}, const WindowOptions& options = {});
  /// Where a window that should train was left before reduce(), enters the exchange flagged, so that the other ranks
  /// leave by an error too. Collective in that case.
  virtual ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// What all ranks decided: kTrain, kSkip or kStop.
  const WindowDecision& decision() const { return decision_; }
  /// This rank's atoms among those of the window: ranks follow one another. Local.
  AtomRange atoms() const { return decision_.ranges.at(static_cast<std::size_t>(comm_->rank())); }
  /// The atom, in the window, that the next backward() computes, and inside its callable that one. Local.
  std::int64_t atom() const { return atoms().begin + backward_calls_; }

  /// The next of this rank's atoms: runs `loss_sum` (forward; returns the sum of the losses of the atom's units) and
  /// its backward, as into a gradient of +0, unless the atom weighs 0. To be called once for each of the request's
  /// atoms. An exception of `loss_sum` is kept and thrown by reduce(), on every rank. Where all ranks skip or stop,
  /// does nothing. Local.
  void backward(const std::function<at::Tensor()>& loss_sum);
  /// The same for an atom of `units` supervised units; with 0, nothing is run. Where every atom of a rank is given its
  /// units, reduce() refuses a sum that is not the request's count. Local.
  void backward(Count units, const std::function<at::Tensor()>& loss_sum);
  /// The same for a loss of several terms (WindowRequest::terms): returns a sum for each, in their order, undefined
  /// where the atom has none of it. Each is multiplied by its 1 / N before backward; a regulariser is taken from atom 0
  /// of the window (atom() == 0) and need not be computed in others.
  void backward(const std::function<std::vector<at::Tensor>()>& loss_sums);

  /// The exchange. True: every parameter's .grad holds the gradient of S/N, the same bits on every rank and for every
  /// number of ranks, until the next window; the buffers hold what WindowBuffers::reduce says. False: all ranks skip or
  /// stop (decision()), and nothing was touched. Throws the same error on every rank, leaving no gradients, where any
  /// rank failed or no atom of any rank used a parameter (WindowOptions::find_unused_parameters). Collective.
  virtual bool reduce();

  /// S and N of all ranks, after reduce(). Of a loss of terms: the objective, with N = 1. Local.
  const LossSum& loss() const { return loss_; }
  /// By term, after reduce(); empty where the window has none. Local.
  std::span<const TermLoss> term_losses() const;
  /// The flat gradient after reduce(). Requires parameters of one dtype, Element. Local.
  template <typename Element = float>
  std::span<Element> gradient() {
    return gradient_->values<Element>();
  }
  const WindowSeconds& seconds() const { return seconds_; }
  const ExchangeVolume& volume() const { return volume_; }
  /// Gradient buffers that this rank's windows have needed so far. Local.
  std::int64_t gradient_buffers() const { return pool_->buffers_made(); }

 protected:
  /// Told before an atom's forward (true) and after its backward (false). Local.
  virtual void inside_atom(bool /*inside*/) {}
  /// "" or what of the model has changed since the window was asked for: an error on all ranks. Local.
  virtual std::string model_change() const;

 private:
  using LossSums = std::function<std::vector<at::Tensor>()>;

  CallLabel label(std::string_view name) const { return {name, update_, options_.timeout}; }
  std::string line(const std::string& what) const;
  WindowBuffers start_of(std::vector<NamedTensor> buffers);
  WindowDecision agree(WindowRequest request);
  void agree_on_terms(const std::vector<LossTerm>& terms);
  void run_next_atom(bool has_units, const LossSums& loss_sums);
  void keep_failure_of(const std::function<void()>& step);
  void fail(const std::string& failure, ExitCode code);
  std::vector<double> run(GradientBuffer& gradient, const LossSums& loss_sums);
  [[noreturn]] void refuse_replaced_gradient(const std::string& parameter) const;
  [[noreturn]] void refuse_own_backward(const std::string& parameter) const;
  std::string missing_calls() const;
  std::string changed_parameter() const;
  void check_model();
  void gather_losses();
  std::string unused_parameters() const;
  void exchange_gradient();
  void set_gradients(const GradientBuffer* gradient) const;

  const ParameterSet* parameters_;
  GradientBufferPool* pool_;
  Communicator* comm_;
  WindowOptions options_;
  std::int64_t update_;
  std::int64_t count_;
  std::optional<std::vector<double>> atom_weights_;
  std::optional<std::uint64_t> generator_seed_;
  WindowSeconds seconds_;
  std::string failure_;
  int failure_code_ = 0;
  WindowBuffers buffers_;
  WindowDecision decision_;
  SubtreeStack subtrees_;
  std::int64_t backward_calls_ = 0;
  std::int64_t calls_with_units_ = 0;
  std::uint64_t units_given_ = 0;
  std::optional<LossTerms> terms_;
  std::vector<std::vector<double>> sums_;  // [term, or the only one][atom of this rank]
  std::vector<bool> used_;        // by parameter: whether an atom of this rank, then of any, accumulated into it
  std::vector<ValueMark> marks_;  // of the parameters, at the start
  enum class Stage { kOpen, kLeft, kReduced } stage_ = Stage::kOpen;
  std::unique_ptr<GradientBuffer> gradient_;
  LossSum loss_;
  ExchangeVolume volume_;
};

}  // namespace samegrad
