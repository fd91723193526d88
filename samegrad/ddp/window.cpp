#include "samegrad/ddp/window.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <sstream>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/ddp/atom_generator.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// "" or why the weights of `range`'s atoms cannot be a window's.
std::string weights_failure(const WindowRequest& request, AtomRange range, int rank) {
  if (!request.atom_weights) return "";
  std::ostringstream line;
  line << "[train] rank " << rank << ", update " << request.update << ": ";
  const std::vector<double>& weights = *request.atom_weights;
  if (static_cast<std::int64_t>(weights.size()) != range.size()) {
    line << weights.size() << " weights for " << range.size() << " atoms; give one weight for each atom of the rank";
    return line.str();
  }
  const auto bad = std::ranges::find_if_not(weights, [](double w) { return std::isfinite(w) && w >= 0.0; });
  if (bad == weights.end()) return "";
  line << "the weight of atom " << range.begin + (bad - weights.begin()) << " is " << *bad
       << "; weights must be finite and at least 0";
  return line.str();
}

/// T over all atoms' weights; a total that is not finite is refused on every rank, as all have the same weights.
double total_weight(const std::vector<double>& by_atom, std::int64_t update) {
  const double total = tree_sum(by_atom);
  if (std::isfinite(total)) return total;
  throw InputError("train", "update " + std::to_string(update) +
                                ": the total weight of the window is above the largest double; scale the weights down");
}

AgreementRecord record_of(const WindowRequest& request) {
  AgreementRecord record;
  record.update = request.update;
  record.atoms_in_window = request.atoms_in_window;
  record.supervised_units = request.supervised_units;
  record.weighted = request.atom_weights ? 1 : 0;
  record.has_data = request.supervised_units > 0 ? 1 : 0;
  if (request.atom_weights) {
    record.has_data = std::ranges::any_of(*request.atom_weights, [](double weight) { return weight > 0.0; }) ? 1 : 0;
  }
  record.stop_asked = request.stop_asked ? 1 : 0;
  record.failed = request.failure.empty() ? 0 : static_cast<std::uint8_t>(request.failure_exit_code);
  std::copy_n(request.digest.begin(), std::min(request.digest.size(), record.digest.size()), record.digest.begin());
  std::copy_n(request.failure.begin(), std::min(request.failure.size(), record.message.size() - 1),
              record.message.begin());
  return record;
}

}  // namespace

Window::Window(FlatParameters& parameters, GradientBufferPool& pool, Communicator& comm, WindowRequest request,
               std::vector<NamedBuffer> buffers)
    : parameters_(&parameters),
      pool_(&pool),
      comm_(&comm),
      update_(request.update),
      timeout_(request.timeout),
      ranges_(rank_ranges(request.atoms_in_window, comm.size())),
      subtrees_(request.atoms_in_window, pool),
      generator_seed_(request.generator_seed),
      buffers_(std::move(buffers), request.atoms_in_window) {
  const Clock::time_point start = Clock::now();
  if (std::string failure = weights_failure(request, atoms(), comm.rank());
      request.failure.empty() && !failure.empty()) {
    request.failure = std::move(failure);
    request.failure_exit_code = static_cast<int>(ExitCode::kBadInput);
  }
  decision_ = decide_window(exchange_records(comm, record_of(request), request.timeout), request.empty_window);
  atom_weights_ = std::move(request.atom_weights);
  left_ = decision_.action != WindowAction::kTrain;
  seconds_.wait += seconds_since(start);
}

Window::~Window() {
  pool_->give_back(std::move(gradient_));
  if (left_) return;
  try {
    agree_no_failure(*comm_, failure_.empty() ? "[train] this rank left the window before its exchange" : failure_,
                     static_cast<int>(ExitCode::kRunFailed), label("window"));
  } catch (const std::exception&) {  // the error that brought us here is the one to report
  }
}

bool Window::has_work(std::int64_t units) const {
  return atom_weights_ ? (*atom_weights_)[local_loss_sums_.size()] > 0.0 : units > 0;
}

void Window::backward(std::int64_t atom, std::int64_t units, const std::function<at::Tensor()>& loss_sum) {
  SAMEGRAD_CHECK_OP(atom, ==, atoms().begin + static_cast<std::int64_t>(local_loss_sums_.size()));
  SAMEGRAD_CHECK_OP(atom, <, atoms().end);
  const Clock::time_point start = Clock::now();
  std::unique_ptr<GradientBuffer> gradient;
  double sum = 0.0;
  if (has_work(units) && failure_.empty()) {
    gradient = pool_->take_zeroed();
    const std::vector<at::Tensor>& tensors = parameters_->tensors();
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].mutable_grad() = gradient->tensors[i];
    try {
      if (generator_seed_) key_default_generator(*generator_seed_, update_, atom);
      const at::Tensor loss = loss_sum();
      loss.backward();
      sum = loss.item<double>();
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        SAMEGRAD_CHECK_OP(tensors[i].grad().const_data_ptr(), ==, gradient->tensors[i].const_data_ptr());
      }
    } catch (const Error& error) {
      failure_ = error.what();
      failure_code_ = static_cast<int>(error.exit_code());
    } catch (const std::exception& error) {
      failure_ = std::string("[train] rank ") + std::to_string(comm_->rank()) + ", update " + std::to_string(update_) +
                 ", atom " + std::to_string(atom) + ": " + error.what();
      failure_code_ = static_cast<int>(ExitCode::kRunFailed);
    }
  }
  buffers_.finish_atom(atom);
  local_loss_sums_.push_back(sum);
  subtrees_.push(atom, std::move(gradient));
  seconds_.compute += seconds_since(start);
}

std::vector<double> Window::gather_by_atom(std::span<const double> mine, std::string_view name) {
  std::int64_t longest = 0;
  for (const AtomRange& range : ranges_) longest = std::max(longest, range.size());
  std::vector<double> sent(static_cast<std::size_t>(longest), 0.0);
  std::ranges::copy(mine, sent.begin());
  std::vector<double> all(sent.size() * ranges_.size());
  comm_->all_gather(std::as_bytes(std::span(sent)), std::as_writable_bytes(std::span(all)), label(name));
  std::vector<double> by_atom;
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * sent.size());
    by_atom.insert(by_atom.end(), begin, begin + ranges_[r].size());
  }
  return by_atom;
}

LossSum Window::reduce() {
  SAMEGRAD_CHECK_OP(static_cast<std::int64_t>(local_loss_sums_.size()), ==, atoms().size());
  SAMEGRAD_CHECK_OP(left_, ==, false);
  left_ = true;
  const Clock::time_point start = Clock::now();
  agree_no_failure(*comm_, failure_, failure_code_, label("window"));
  seconds_.wait += seconds_since(start);

  const Clock::time_point exchange_start = Clock::now();
  LossSum loss{tree_sum(gather_by_atom(local_loss_sums_, "loss sums")), decision_.global_units};
  if (atom_weights_) loss.weight = total_weight(gather_by_atom(*atom_weights_, "weights"), update_);
  with_element_type(parameters_->layout().type(), [&](auto zero) {
    using Element = decltype(zero);
    std::vector<SubtreeGradient<Element>> mine;
    for (const SubtreeStack::Node& node : subtrees_.nodes()) {
      mine.push_back({node.atoms, node.sum ? node.sum->values.template span<Element>().data() : nullptr});
    }
    // Nobody needs this rank's sums after they have been sent: the result takes the place of one of them.
    gradient_ = subtrees_.take_buffer();
    if (!gradient_) gradient_ = pool_->take_zeroed();
    volume_ = reduce_canonically(*comm_, ranges_, mine, gradient_->values.template span<Element>(),
                                 gradient_divisor(GradientReduction::kWindow, loss.divisor()), label("gradient"));
  });
  buffers_.reduce(*comm_, ranges_, label("buffers"));
  const std::vector<at::Tensor>& tensors = parameters_->tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].mutable_grad() = gradient_->tensors[i];
  seconds_.exchange += seconds_since(exchange_start);
  return loss;
}

}  // namespace samegrad
