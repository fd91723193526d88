// How the gradients of a backward leave and come back: the half of Reducer that talks to other ranks.
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/ddp/model_agreement.h"
#include "samegrad/ddp/reducer.h"

namespace samegrad {

/// Puts what this rank gives of one gradient into its place.
void Reducer::prepare(std::size_t parameter) {
  const at::NoGradGuard no_grad;
  const at::Tensor& view = buckets().view(parameter);
  const at::Tensor& gradient = parameters_[parameter].tensor.grad();
  const bool given_by_rank_0 =
      holds_exchanged_[parameter] && world_.rank() != 0 && options_.reduction == GradientReduction::kSum;
  if (!gradient.defined() || given_by_rank_0 || without_data_) {
    view.zero_();
  } else {
    copy_gradient(gradient, view);
    adopt(parameter);
  }
}

void Reducer::leave_ready_buckets() {
  const auto ready = [&](std::size_t parameter) {
    return gradients_[parameter] >= (graph_ ? (*graph_)[parameter] : 1);
  };
  std::vector<GradientBucket>& all = buckets().buckets();
  while (next_bucket_ < all.size() && !layout_[next_bucket_].delayed &&
         std::ranges::all_of(all[next_bucket_].parameters, ready)) {
    leave(next_bucket_++);
  }
}

void Reducer::leave_all_buckets() {
  if (std::exchange(overlapping_, false)) thread_->wait();
  if (passive()) return;
  for (; next_bucket_ < layout_.size(); ++next_bucket_) leave(next_bucket_);
}

void Reducer::leave(std::size_t bucket) {
  for (const std::size_t parameter : buckets().buckets()[bucket].parameters) prepare(parameter);
  if (overlapping_) {
    thread_->submit([this, bucket] { exchange_bucket(bucket); });
  } else {
    exchange_bucket(bucket);
  }
}

void Reducer::exchange_bucket(std::size_t index) {
  GradientBucket& bucket = buckets().buckets()[index];
  if (!hook_) {
    exchange_gradient(world_.communicator(), bucket.flat,
                      {.reduction = options_.reduction, .order = options_.order, .mean_over = mean_over_},
                      {call_name("gradient bucket " + std::to_string(index)), exchanges_, world_.timeout()});
    return;
  }
  GradBucket seen{
      .index = index, .is_last = index + 1 == layout_.size(), .buffer = bucket.flat, .gradients = {}, .parameters = {}};
  for (const std::size_t parameter : bucket.parameters) {
    seen.gradients.push_back(buckets().view(parameter));
    seen.parameters.push_back(names_[parameter]);
  }
  const at::NoGradGuard no_grad;
  const at::Tensor result = hook_(seen, world_);
  if (!result.defined() || result.numel() != bucket.flat.numel() || result.scalar_type() != bucket.flat.scalar_type()) {
    throw InputError("ddp", "communication hook, bucket " + std::to_string(index) +
                                ": its result has another size or dtype than the bucket; return as many elements of "
                                "the same dtype");
  }
  if (!result.is_same(bucket.flat)) bucket.flat.copy_(result.reshape(bucket.flat.sizes()));
}

void Reducer::exchange_without_data() {
  next_bucket_ = 0;
  ++backwards_;
  BackwardReport mine = report();
  mine.used.assign(parameters_.size(), false);
  mine.joined = true;
  mine.failure.clear();
  exchange(std::move(mine));
}

/// Where buckets leave during backward, a report at its end comes too late for a change on one rank: the name of the
/// call, which ranks compare, tells it.
std::string Reducer::call_name(std::string usual) const {
  return change_.empty() || !thread_ ? usual : "changed: " + change_;
}

/// The same on all ranks, whatever this one did in the passes before.
bool Reducer::buckets_leave_first() const { return thread_ && (!options_.static_graph || exchanges_ > 1); }

BackwardReport Reducer::report() const {
  return {.used = used_, .joined = false, .hooked = hook_ != nullptr, .change = change_, .failure = failure_};
}

std::vector<BackwardReport> Reducer::agree(const BackwardReport& report) {
  const std::string name = call_name("end of backward");
  const CallLabel label{name, exchanges_, world_.timeout()};
  std::vector<BackwardReport> reports = exchange_reports(world_.communicator(), report, agreed_parameters_, label);
  if (change_.empty() || !same_changes(reports)) return reports;
  set_change("", 0);  // all have it: the reports that follow are those of this model
  check_same_values(world_, parameters_, "check after the model has changed");  // of new parameters
  return exchange_reports(world_.communicator(), report, agreed_parameters_, label);
}

/// Every rank makes the same calls, also where something failed on one: all learn of it together.
BackwardDecision Reducer::exchange_buckets(const BackwardReport& report) {
  without_data_ = report.joined;
  const bool buckets_first = buckets_leave_first();
  if (buckets_first) leave_all_buckets();
  const UnusedParameters allowed =
      options_.find_unused_parameters || options_.static_graph ? UnusedParameters::kAllow : UnusedParameters::kRefuse;
  const std::vector<BackwardReport> reports = agree(report);
  BackwardDecision decision = decide_backward(reports, names_, allowed, backwards_);
  if (!buckets_first && decision.failure.empty()) leave_all_buckets();
  return decision;
}

void Reducer::exchange(BackwardReport report) {
  ++exchanges_;
  used_.assign(parameters_.size(), false);
  failure_.clear();
  report.passes = std::exchange(passes_, 0);
  const at::NoGradGuard no_grad;
  std::vector<std::pair<std::size_t, at::Tensor>> untouched;  // gradients that stay where no rank made one
  for (std::size_t i = 0; i < parameters_.size() && !passive(); ++i) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (!report.used[i] && gradient.defined()) untouched.emplace_back(i, gradient.clone());
  }
  BackwardDecision decision;
  try {
    decision = exchange_buckets(report);
  } catch (const std::exception& error) {
    world_.communicator().leave(error.what());  // the others must not wait for this rank
    throw;
  }
  if (!decision.warning.empty() && !std::exchange(warned_of_passes_, true)) log_warn(decision.warning);
  if (!decision.failure.empty()) throw_failure_line(decision.failure, static_cast<int>(ExitCode::kRunFailed));
  if (passive()) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (decision.used_somewhere[i]) finish(i);
  }
  for (const auto& [i, gradient] : untouched) {
    if (!decision.used_somewhere[i]) parameters_[i].tensor.mutable_grad().copy_(gradient);
  }
  if (options_.check_sync_every > 0 && exchanges_ % options_.check_sync_every == 0) {
    check_same_values(world_, parameters_, "check after exchange " + std::to_string(exchanges_));
  }
}

void Reducer::finish(std::size_t parameter) {
  at::Tensor& gradient = parameters_[parameter].tensor.mutable_grad();
  const at::Tensor& view = buckets().view(parameter);
  holds_exchanged_[parameter] = true;
  if (options_.gradient_as_bucket_view) {
    gradient = view;
  } else if (gradient.defined() && gradient.layout() == at::kStrided) {
    gradient.copy_(view);
  } else {
    gradient = view.clone();
  }
}

}  // namespace samegrad
