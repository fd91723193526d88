// Window::reduce(): what all ranks check, and the exchange.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/ddp/atom_gather.h"
#include "samegrad/ddp/window.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

constexpr std::size_t kMostNamed = 5;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string numbered(std::int64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// A total weight that is not finite is refused on every rank, as all have the same.
double checked_weight(double total, std::int64_t update) {
  if (std::isfinite(total)) return total;
  throw InputError("window",
                   "update " + std::to_string(update) +
                       ": the total weight of the window is above the largest double; scale the weights down");
}

}  // namespace

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
  if (terms_) {
    if (std::string missing = terms_->missing_sums(); !missing.empty()) return line(missing);
  }
  return "";
}

std::string Window::changed_parameter() const {
  const std::optional<std::size_t> changed = first_changed(parameters_->parameters(), marks_);
  if (!changed) return "";
  return line(parameters_->parameters()[*changed].name +
              " was changed while the window was open, as by a hook that steps an optimizer; step after reduce()");
}

void Window::gather_losses() {
  std::vector<std::vector<double>> columns = sums_;
  if (atom_weights_) columns.push_back(*atom_weights_);
  const GatheredAtoms all = gather_atoms(*comm_, decision_.ranges, columns, used_, label("loss sums"));
  used_ = all.flags;
  std::vector<double> sums;
  for (const std::vector<double>& column : all.columns) sums.push_back(tree_sum(column));
  if (terms_) {
    terms_->finish(sums);
    loss_ = terms_->total();
    return;
  }
  loss_ = {sums.front(), decision_.global_units};
  if (atom_weights_) loss_.weight = checked_weight(sums.back(), update_);
}

std::span<const TermLoss> Window::term_losses() const {
  return terms_ ? std::span<const TermLoss>(terms_->losses()) : std::span<const TermLoss>();
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
  note_phase(*comm_, "exchange", update_);
  const Clock::time_point start = Clock::now();
  fail(missing_calls(), ExitCode::kBadInput);
  check_model();
  fail(changed_parameter(), ExitCode::kBadInput);
  agree_no_failure(*comm_, failure_, failure_code_, label("window"));
  seconds_.wait += seconds_since(start);

  const Clock::time_point exchange_start = Clock::now();
  gather_losses();
  if (std::string unused = unused_parameters(); !unused.empty() && !options_.find_unused_parameters) {
    throw InputError("window", "update " + std::to_string(update_) + ": no atom of any rank has a gradient for " +
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
  if (!gradient_) gradient_ = pool_->take();
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
