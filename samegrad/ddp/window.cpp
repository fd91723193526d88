#include "samegrad/ddp/window.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/ddp/atom_gather.h"
#include "samegrad/ddp/atom_generator.h"
#include "samegrad/ddp/gradient_landing.h"

namespace samegrad {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBadInput = static_cast<int>(ExitCode::kBadInput);

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Whether what a callable returned are sums.
void check_numbers(const std::vector<at::Tensor>& returned) {
  for (const at::Tensor& sum : returned) {
    if (!sum.defined() || sum.numel() == 1) continue;
    throw std::invalid_argument("the callable returned a tensor of " + std::to_string(sum.numel()) +
                                " elements; return the sum over the atom's units, one number");
  }
}

}  // namespace

Window::Window(const ParameterSet& parameters, GradientBufferPool& pool, Communicator& comm,
               const WindowRequest& request, std::vector<NamedTensor> buffers, const WindowOptions& options)
    : parameters_(&parameters),
      pool_(&pool),
      comm_(&comm),
      options_(options),
      update_(request.update),
      count_(request.count.value()),
      atom_weights_(request.atom_weights),
      generator_seed_(request.generator_seed),
      buffers_(start_of(std::move(buffers))),
      decision_(agree(request)),
      subtrees_(decision_.ranges.back().end, pool),
      sums_(std::max<std::size_t>(request.terms.size(), 1)),
      used_(parameters.parameters().size()) {
  buffers_.set_atoms(decision_.ranges.back().end);
  pool_->place_in(gradient_memory_of(comm));
  marks_ = marks_of(parameters.parameters());
  if (!request.terms.empty() && decision_.action == WindowAction::kTrain) agree_on_terms(request.terms);
}

/// Before the agreement, so that all ranks hear of a buffer that cannot be kept.
WindowBuffers Window::start_of(std::vector<NamedTensor> buffers) {
  try {
    return {std::move(buffers), 0};
  } catch (const std::exception& error) {
    const std::string what = error.what();  // libtorch's goes on with a backtrace
    fail(line("a buffer cannot be kept for the window: " + what.substr(0, what.find('\n'))), ExitCode::kRunFailed);
    return {{}, 0};
  }
}

WindowDecision Window::agree(WindowRequest request) {
  if (request.failure.empty() && !failure_.empty()) {
    request.failure = failure_;
    request.failure_exit_code = failure_code_;
  }
  const Clock::time_point start = Clock::now();
  const AgreementRecord mine = record_of(request, parameters_->digest(), comm_->rank());
  note_phase(*comm_, "agreement", request.update);
  WindowDecision decision = decide_window(exchange_records(*comm_, mine, options_.timeout));
  if (decision.action == WindowAction::kTrain) note_phase(*comm_, "backward", request.update);
  if (decision.action == WindowAction::kRefuse) throw_refusal(decision);
  seconds_.wait += seconds_since(start);
  return decision;
}

void Window::agree_on_terms(const std::vector<LossTerm>& terms) {
  std::vector<std::vector<double>> columns;
  for (const LossTerm& term : terms) {
    if (term.weights) columns.push_back(*term.weights);
  }
  std::vector<double> totals(terms.size());
  if (!columns.empty()) {
    const GatheredAtoms all = gather_atoms(*comm_, decision_.ranges, columns, {}, label("weights of loss terms"));
    std::size_t column = 0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (terms[k].weights) totals[k] = tree_sum(all.columns[column++]);
    }
  }
  terms_.emplace(terms, decision_, totals);
}

Window::~Window() {
  pool_->give_back(std::move(gradient_));
  if (decision_.action != WindowAction::kTrain || stage_ == Stage::kReduced) return;
  set_gradients(nullptr);
  if (stage_ == Stage::kLeft) return;
  try {
    agree_no_failure(
        *comm_,
        failure_.empty()
            ? line("left the window before its exchange: without reduce(), or by an exception between its calls")
            : failure_,
        static_cast<int>(ExitCode::kRunFailed), label("window"));
  } catch (const std::exception&) {  // the error that brought us here is the one to report
  }
}

std::string Window::line(const std::string& what) const {
  return "[window] rank " + std::to_string(comm_->rank()) + ", update " + std::to_string(update_) + ": " + what;
}

void Window::set_gradients(const GradientBuffer* gradient) const {
  const std::vector<NamedTensor>& parameters = parameters_->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].tensor.mutable_grad() = gradient != nullptr ? gradient->tensors[i] : at::Tensor();
  }
}

void Window::backward(const std::function<at::Tensor()>& loss_sum) {
  run_next_atom(true, [&] { return std::vector<at::Tensor>{loss_sum()}; });
}

void Window::backward(const std::function<std::vector<at::Tensor>()>& loss_sums) { run_next_atom(true, loss_sums); }

void Window::backward(Count units, const std::function<at::Tensor()>& loss_sum) {
  if (!units.fits()) {
    fail(line("an atom has " + units.text() + " units, allowed is 0 to 2^63 - 1; give the number that it has"),
         ExitCode::kBadInput);
  }
  if (terms_) {
    fail(line("backward(units, ...) in a window of loss terms; leave the units away, the terms have counts"),
         ExitCode::kBadInput);
  }
  ++calls_with_units_;
  units_given_ += static_cast<std::uint64_t>(units.value());
  run_next_atom(units.value() > 0, [&] { return std::vector<at::Tensor>{loss_sum()}; });
}

void Window::run_next_atom(bool has_units, const LossSums& loss_sums) {
  if (decision_.action != WindowAction::kTrain) return;
  if (stage_ != Stage::kOpen)
    throw_failure_line(line("backward() after reduce(); ask for the next window first"), kBadInput);
  check_model();
  if (atom() >= atoms().end || !failure_.empty()) {  // reduce() tells all ranks
    ++backward_calls_;
    return;
  }
  const Clock::time_point start = Clock::now();
  std::unique_ptr<GradientBuffer> gradient;
  std::vector<double> sums(sums_.size());
  inside_atom(true);
  keep_failure_of([&] {
    if (!has_units) return;
    gradient = pool_->take();
    sums = run(*gradient, loss_sums);
  });
  inside_atom(false);
  check_model();
  keep_failure_of([&] { buffers_.finish_atom(atom()); });
  for (std::size_t k = 0; k < sums.size(); ++k) sums_[k].push_back(sums[k]);
  subtrees_.push(atom(), std::move(gradient));
  ++backward_calls_;
  seconds_.compute += seconds_since(start);
}

std::string Window::model_change() const {
  for (const NamedTensor& named : parameters_->parameters()) {
    if (!named.tensor.requires_grad()) return named.name + " is not trained any more";
  }
  return "";
}

void Window::check_model() {
  if (const std::string change = model_change(); !change.empty()) {
    fail(line("the model was changed while the window was open: " + change +
              "; change it between windows, on every rank"),
         ExitCode::kBadInput);
  }
}

void Window::keep_failure_of(const std::function<void()>& step) {
  std::string failure;
  ExitCode code = ExitCode::kRunFailed;
  try {
    step();
  } catch (const Error& error) {
    failure = error.what();
    code = error.exit_code();
  } catch (const std::exception& error) {
    const std::string what = error.what();  // libtorch's goes on with a backtrace
    failure = "[window] rank " + std::to_string(comm_->rank()) + ", update " + std::to_string(update_) + ", atom " +
              std::to_string(atom()) + ": " + what.substr(0, what.find('\n'));
  }
  fail(failure, code);
}

void Window::fail(const std::string& failure, ExitCode code) {
  if (!failure_.empty()) return;  // the first is the cause
  failure_ = failure;
  failure_code_ = static_cast<int>(code);
}

void Window::refuse_own_backward(const std::string& parameter) const {
  throw_failure_line(line(parameter + " has a gradient before the window's own backward; the callable only returns the "
                                      "loss, window.backward() runs backward"),
                     kBadInput);
}

std::vector<double> Window::run(GradientBuffer& gradient, const LossSums& loss_sums) {
  const std::vector<NamedTensor>& parameters = parameters_->parameters();
  set_gradients(nullptr);
  if (generator_seed_) key_default_generator(*generator_seed_, update_, atom());
  const std::vector<at::Tensor> returned = loss_sums();
  check_numbers(returned);
  for (const NamedTensor& parameter : parameters) {
    if (parameter.tensor.grad().defined()) refuse_own_backward(parameter.name);
  }
  if (!terms_ && returned.size() != 1) {
    throw_failure_line(line(std::to_string(returned.size()) +
                            " loss sums in a window without terms; return one, or ask for the window with terms"),
                       kBadInput);
  }
  const at::Tensor objective = terms_ ? terms_->objective(returned, atom()) : returned.front();
  std::vector<double> sums(sums_.size());
  const GradientLanding landing(*parameters_, gradient);
  if (objective.defined()) {
    objective.backward();
  } else if (!terms_) {
    throw_failure_line(line("the callable returned no tensor; return the sum of the atom's losses, or call "
                            "backward(0, callable) for an atom without units"),
                       kBadInput);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!landing.is_untouched(i)) refuse_replaced_gradient(parameters[i].name);
    if (landing.landed(i)) used_[i] = true;
  }
  landing.fill_others();
  set_gradients(nullptr);  // a step before reduce() must not find this rank's own
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (returned[k].defined() && (!terms_ || terms_->uses(k, atom()))) sums[k] = returned[k].item<double>();
  }
  return sums;
}

void Window::refuse_replaced_gradient(const std::string& parameter) const {
  throw InputError("window", "update " + std::to_string(update_) + ", atom " + std::to_string(atom()) +
                                 ": the .grad of parameter " + parameter +
                                 " was replaced while the atom's backward ran; the window collects it there, so "
                                 "take whatever sets .grad, zero_grad() too, out of the hooks that run in backward");
}

}  // namespace samegrad
