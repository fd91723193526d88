#include "samegrad/ddp/window.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/ddp/atom_gather.h"
#include "samegrad/ddp/atom_generator.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

constexpr std::size_t kMostNamed = 5;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string numbered(std::int64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// T over all atoms' weights; a total that is not finite is refused on every rank, as all have the same weights.
double total_weight(const std::vector<double>& by_atom, std::int64_t update) {
  const double total = tree_sum(by_atom);
  if (std::isfinite(total)) return total;
  throw InputError("train", "update " + std::to_string(update) +
                                ": the total weight of the window is above the largest double; scale the weights down");
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
      decision_(agree(request)),
      buffers_(std::move(buffers), decision_.ranges.back().end),
      subtrees_(decision_.ranges.back().end, pool),
      used_(parameters.parameters().size()) {}

WindowDecision Window::agree(const WindowRequest& request) {
  const Clock::time_point start = Clock::now();
  const AgreementRecord mine = record_of(request, parameters_->digest(), comm_->rank());
  WindowDecision decision = decide_window(exchange_records(*comm_, mine, options_.timeout), request.empty_window);
  if (decision.action == WindowAction::kRefuse) throw_refusal(decision);
  seconds_.wait += seconds_since(start);
  return decision;
}

Window::~Window() {
  pool_->give_back(std::move(gradient_));
  if (decision_.action != WindowAction::kTrain || stage_ == Stage::kReduced) return;
  set_gradients(nullptr);
  if (stage_ == Stage::kLeft) return;
  try {
    agree_no_failure(*comm_, failure_.empty() ? line("this rank left the window before its exchange") : failure_,
                     static_cast<int>(ExitCode::kRunFailed), label("window"));
  } catch (const std::exception&) {  // the error that brought us here is the one to report
  }
}

std::string Window::line(const std::string& what) const {
  return "[train] rank " + std::to_string(comm_->rank()) + ", update " + std::to_string(update_) + ": " + what;
}

void Window::set_gradients(const GradientBuffer* gradient) const {
  const std::vector<NamedTensor>& parameters = parameters_->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].tensor.mutable_grad() = gradient != nullptr ? gradient->tensors[i] : at::Tensor();
  }
}

void Window::backward(const std::function<at::Tensor()>& loss_sum) { run_next_atom(true, loss_sum); }

void Window::backward(Count units, const std::function<at::Tensor()>& loss_sum) {
  if (!units.fits()) {
    fail(line("an atom has " + units.text() + " units, allowed is 0 to 2^63 - 1; give the number that it has"),
         ExitCode::kBadInput);
  }
  ++calls_with_units_;
  units_given_ += static_cast<std::uint64_t>(units.value());
  run_next_atom(units.value() > 0, loss_sum);
}

void Window::run_next_atom(bool has_units, const std::function<at::Tensor()>& loss_sum) {
  if (decision_.action != WindowAction::kTrain) return;
  if (stage_ != Stage::kOpen) throw_failure_line(line("backward() after reduce(); ask for the next window first"), 2);
  if (atom() >= atoms().end || !failure_.empty()) {  // reduce() tells all ranks
    ++backward_calls_;
    return;
  }
  const Clock::time_point start = Clock::now();
  std::unique_ptr<GradientBuffer> gradient;
  double sum = 0.0;
  keep_failure_of([&] {
    if (atom_weights_ ? (*atom_weights_)[static_cast<std::size_t>(backward_calls_)] > 0.0 : has_units) {
      gradient = pool_->take_zeroed();
      sum = run(*gradient, loss_sum);
    }
  });
  keep_failure_of([&] { buffers_.finish_atom(atom()); });
  loss_sums_.push_back(sum);
  subtrees_.push(atom(), std::move(gradient));
  ++backward_calls_;
  seconds_.compute += seconds_since(start);
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
    failure = "[train] rank " + std::to_string(comm_->rank()) + ", update " + std::to_string(update_) + ", atom " +
              std::to_string(atom()) + ": " + error.what();
  }
  fail(failure, code);
}

void Window::fail(const std::string& failure, ExitCode code) {
  if (!failure_.empty()) return;  // the first is the cause
  failure_ = failure;
  failure_code_ = static_cast<int>(code);
}

double Window::run(GradientBuffer& gradient, const std::function<at::Tensor()>& loss_sum) {
  set_gradients(&gradient);
  // Autograd adds in place, which the counter of a tensor's versions shows: no hooks, nothing for each node.
  std::vector<std::int64_t> versions;
  for (const at::Tensor& tensor : gradient.tensors) versions.push_back(tensor._version());
  if (generator_seed_) key_default_generator(*generator_seed_, update_, atom());
  const at::Tensor loss = loss_sum();
  if (!loss.defined()) return 0.0;
  loss.backward();
  for (std::size_t i = 0; i < gradient.tensors.size(); ++i) {
    const NamedTensor& parameter = parameters_->parameters()[i];
    if (!parameter.tensor.grad().is_same(gradient.tensors[i])) refuse_replaced_gradient(parameter.name);
    if (gradient.tensors[i]._version() != versions[i]) used_[i] = true;
  }
  return loss.item<double>();
}

void Window::refuse_replaced_gradient(const std::string& parameter) const {
  throw InputError("train", "update " + std::to_string(update_) + ", atom " + std::to_string(atom()) +
                                ": the .grad of parameter " + parameter +
                                " was replaced while the atom ran; a window adds into the one that it has set, so "
                                "take backward with create_graph, zero_grad() and whatever sets .grad out of the "
                                "callable (the window calls backward itself)");
}

std::string Window::missing_calls() const {
  if (backward_calls_ != atoms().size()) {
    return line("backward() was called " + numbered(backward_calls_, "time") + " for " +
                numbered(atoms().size(), "atom") +
                "; call it once for each of the atoms that the window was asked "
                "for with");
  }
  const auto units = static_cast<std::int64_t>(units_given_);
  if (calls_with_units_ == backward_calls_ && backward_calls_ > 0 && units != count_) {
    return line("the atoms have " + numbered(units, "unit") + ", and the window was asked for with a count of " +
                std::to_string(count_) + "; count the units of the same atoms in both places");
  }
  return "";
}

void Window::gather_losses() {
  std::vector<std::vector<double>> columns{loss_sums_};
  if (atom_weights_) columns.push_back(*atom_weights_);
  const GatheredAtoms all = gather_atoms(*comm_, decision_.ranges, columns, used_, label("loss sums"));
  loss_ = {tree_sum(all.columns[0]), decision_.global_units};
  if (atom_weights_) loss_.weight = total_weight(all.columns[1], update_);
  used_ = all.flags;
}

std::string Window::unused_parameters() const {
  const std::size_t unused = static_cast<std::size_t>(std::ranges::count(used_, false));
  std::string names;
  std::size_t named = 0;
  for (std::size_t i = 0; i < used_.size() && named < kMostNamed; ++i) {
    if (!used_[i]) names += (named++ == 0 ? "" : ", ") + parameters_->parameters()[i].name;
  }
  return unused > named ? names + " and " + std::to_string(unused - named) + " more" : names;
}

bool Window::reduce() {
  if (decision_.action != WindowAction::kTrain) return false;
  if (stage_ != Stage::kOpen) throw_failure_line(line("reduce() a second time; ask for the next window first"), 2);
  stage_ = Stage::kLeft;
  const Clock::time_point start = Clock::now();
  fail(missing_calls(), ExitCode::kBadInput);
  agree_no_failure(*comm_, failure_, failure_code_, label("window"));
  seconds_.wait += seconds_since(start);

  const Clock::time_point exchange_start = Clock::now();
  gather_losses();
  if (std::string unused = unused_parameters(); !unused.empty() && !options_.find_unused_parameters) {
    throw InputError("train", "update " + std::to_string(update_) + ": no atom of any rank has a gradient for " +
                                  unused +
                                  "; use them in the loss, freeze them (requires_grad_(false)), or set "
                                  "find_unused_parameters");
  }
  exchange_gradient();
  buffers_.reduce(*comm_, decision_.ranges, label("buffers"));
  set_gradients(gradient_.get());
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) parameters_->parameters()[i].tensor.mutable_grad().reset();
  }
  stage_ = Stage::kReduced;
  seconds_.exchange += seconds_since(exchange_start);
  return true;
}

void Window::exchange_gradient() {
  std::vector<std::pair<AtomRange, GradientBuffer*>> mine;
  for (const SubtreeStack::Node& node : subtrees_.nodes()) mine.emplace_back(node.atoms, node.sum.get());
  // Nobody needs this rank's sums after they have been sent: the result takes the place of one of them.
  gradient_ = subtrees_.take_buffer();
  if (!gradient_) gradient_ = pool_->take_zeroed();
  const double divisor = gradient_divisor(GradientReduction::kWindow, loss_.divisor());
  for (std::size_t group = 0; group < gradient_->blocks.size(); ++group) {
    with_element_type(gradient_->blocks[group].type(), [&](auto zero) {
      using Element = decltype(zero);
      std::vector<SubtreeGradient<Element>> subtrees;
      for (const auto& [atoms, sum] : mine) {
        subtrees.push_back({atoms, sum != nullptr ? sum->blocks[group].template span<Element>().data() : nullptr});
      }
      const ExchangeVolume volume =
          reduce_canonically(*comm_, decision_.ranges, subtrees, gradient_->blocks[group].template span<Element>(),
                             divisor, label("gradient"));
      volume_.bytes_sent += volume.bytes_sent;
      volume_.bytes_received += volume.bytes_received;
    });
  }
}

}  // namespace samegrad
