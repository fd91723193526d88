#include "samegrad/ddp/window.h"

#include <algorithm>
#include <exception>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

AgreementRecord record_of(const WindowRequest& request) {
  AgreementRecord record;
  record.update = request.update;
  record.atoms_in_window = request.atoms_in_window;
  record.supervised_units = request.supervised_units;
  record.has_data = request.supervised_units > 0 ? 1 : 0;
  record.stop_asked = request.stop_asked ? 1 : 0;
  record.failed = request.failure.empty() ? 0 : static_cast<std::uint8_t>(request.failure_exit_code);
  std::copy_n(request.digest.begin(), std::min(request.digest.size(), record.digest.size()), record.digest.begin());
  std::copy_n(request.failure.begin(), std::min(request.failure.size(), record.message.size() - 1),
              record.message.begin());
  return record;
}

}  // namespace

Window::Window(FlatParameters& parameters, GradientBufferPool& pool, Communicator& comm, const WindowRequest& request)
    : parameters_(&parameters),
      pool_(&pool),
      comm_(&comm),
      update_(request.update),
      timeout_(request.timeout),
      ranges_(rank_ranges(request.atoms_in_window, comm.size())),
      subtrees_(request.atoms_in_window, pool) {
  const Clock::time_point start = Clock::now();
  decision_ = decide_window(exchange_records(comm, record_of(request), request.timeout), request.empty_window);
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

void Window::backward(std::int64_t atom, std::int64_t units, const std::function<at::Tensor()>& loss_sum) {
  SAMEGRAD_CHECK_OP(atom, ==, atoms().begin + static_cast<std::int64_t>(local_loss_sums_.size()));
  SAMEGRAD_CHECK_OP(atom, <, atoms().end);
  const Clock::time_point start = Clock::now();
  std::unique_ptr<GradientBuffer> gradient;
  double sum = 0.0;
  if (units > 0 && failure_.empty()) {
    gradient = pool_->take_zeroed();
    const std::vector<at::Tensor>& tensors = parameters_->tensors();
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].mutable_grad() = gradient->tensors[i];
    try {
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
  local_loss_sums_.push_back(sum);
  subtrees_.push(atom, std::move(gradient));
  seconds_.compute += seconds_since(start);
}

std::vector<double> Window::gather_loss_sums() {
  std::int64_t longest = 0;
  for (const AtomRange& range : ranges_) longest = std::max(longest, range.size());
  std::vector<double> mine(static_cast<std::size_t>(longest), 0.0);
  std::ranges::copy(local_loss_sums_, mine.begin());
  std::vector<double> all(mine.size() * ranges_.size());
  comm_->all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), label("loss sums"));
  std::vector<double> by_atom;
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * mine.size());
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
  const LossSum loss{tree_sum(gather_loss_sums()), decision_.global_units};
  gradient_ = pool_->take_zeroed();
  with_element_type(gradient_->values.type(), [&](auto zero) {
    using Element = decltype(zero);
    std::vector<SubtreeGradient<Element>> mine;
    for (const SubtreeStack::Node& node : subtrees_.nodes()) {
      mine.push_back({node.atoms, node.sum ? node.sum->values.template span<Element>().data() : nullptr});
    }
    volume_ = reduce_canonically(*comm_, ranges_, mine, gradient_->values.template span<Element>(),
                                 gradient_divisor(GradientReduction::kWindow, static_cast<double>(loss.count)),
                                 label("gradient"));
  });
  const std::vector<at::Tensor>& tensors = parameters_->tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].mutable_grad() = gradient_->tensors[i];
  seconds_.exchange += seconds_since(exchange_start);
  return loss;
}

}  // namespace samegrad
