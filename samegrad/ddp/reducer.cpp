#include "samegrad/ddp/reducer.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/log.h"

namespace samegrad {
namespace {

constexpr double kBytesOfMebibyte = 1024.0 * 1024.0;

std::vector<BucketParameter> bucket_parameters(const std::vector<NamedTensor>& parameters,
                                               const std::vector<std::string>& delayed) {
  const std::set<std::string> late(delayed.begin(), delayed.end());
  std::vector<BucketParameter> result;
  for (const NamedTensor& named : parameters) {
    result.push_back({named.name, named.tensor.scalar_type(), named.tensor.numel(), late.contains(named.name)});
  }
  return result;
}

std::int64_t bytes_of_mebibytes(double mebibytes) { return static_cast<std::int64_t>(mebibytes * kBytesOfMebibyte); }

}  // namespace

Reducer::Reducer(std::vector<NamedTensor> parameters, World world, DistributedDataParallelOptions options)
    : parameters_(std::move(parameters)),
      world_(std::move(world)),
      options_(std::move(options)),
      bucket_parameters_(bucket_parameters(parameters_, options_.delay_all_reduce)),
      layout_(lay_out_buckets(bucket_parameters_, {.first_bytes = bytes_of_mebibytes(options_.first_bucket_mb),
                                                   .bytes = bytes_of_mebibytes(options_.bucket_cap_mb)})),
      agreed_parameters_(parameters_.size()),
      used_(parameters_.size(), false),
      holds_exchanged_(parameters_.size(), false),
      gradients_(parameters_.size(), 0) {
  for (const NamedTensor& named : parameters_) names_.push_back(named.name);
  AutogradEvents events;
  if (options_.reduction == GradientReduction::kSum && world_.rank() != 0) {
    events.before_gradient = [this](std::size_t parameter) { before_gradient(parameter); };
  }
  events.after_gradient = [this](std::size_t parameter, bool defined) { after_gradient(parameter, defined); };
  events.begin = [this](bool synchronize) { begin(synchronize); };
  events.end = [this](bool synchronize) { end(synchronize); };
  if (options_.overlap == Overlap::kOn && world_.size() > 1) thread_ = std::make_unique<ExchangeThread>();
  watch_ = std::make_unique<AutogradWatch>(parameters_, std::move(events));
}

void Reducer::watch(const std::vector<at::Tensor>& outputs, bool synchronize) {
  if (!in_backward()) std::ranges::fill(gradients_, 0);  // of a pass that failed, or went past the wrapper
  watch_->watch(outputs, synchronize);
  if (watch_->stray_passes() > 0 && stray_passes_ == 0 && world_.size() > 1) {
    log_warn(
        "[ddp] a backward went past the wrapper: the model was called by itself, so its gradients were not "
        "exchanged then; call DistributedDataParallel::forward");
  }
  stray_passes_ = watch_->stray_passes();
}

void Reducer::register_hook(CommHook hook) {
  if (hook_) throw InputError("ddp", "communication hook: a second one; allowed is one for each wrapped model");
  hook_ = std::move(hook);
  thread_.reset();  // a hook runs in the thread of backward
}

void Reducer::follow(Reducer& before) {
  backwards_ = before.backwards_;
  exchanges_ = before.exchanges_;
  mean_over_ = before.mean_over_;
  no_sync_ = before.no_sync_;
  warned_of_scope_ = before.warned_of_scope_;
  if (before.hook_) register_hook(std::move(before.hook_));
}

void Reducer::set_change(std::string change, std::size_t parameters) {
  agreed_parameters_ = change.empty() ? parameters_.size() : parameters;
  change_ = std::move(change);
}

std::int64_t Reducer::bucket_bytes() const {
  std::int64_t bytes = 0;
  if (!buckets_) return bytes;
  for (const BucketLayout& bucket : layout_) {
    bytes += bucket.elements * static_cast<std::int64_t>(c10::elementSize(bucket.dtype));
  }
  return bytes;
}

std::string Reducer::describe() const { return describe_buckets(bucket_parameters_, layout_); }

GradientBuckets& Reducer::buckets() {
  if (!buckets_) buckets_.emplace(parameters_, layout_, gradient_memory_of(world_.communicator()).get());
  return *buckets_;
}

void Reducer::fail(std::string line) {
  if (failure_.empty()) failure_ = std::move(line);
}

/// Note [Sums that stay]
/// After an exchange .grad holds the same sum P on every rank. Where it is not set to zero and another backward adds
/// g_r to it, the next sum over ranks would be W P + sum g_r. So all ranks but one drop P before they add to it. A mean
/// needs nothing: the mean of P + g_r is P + mean g_r.
void Reducer::before_gradient(std::size_t parameter) {
  at::Tensor& gradient = parameters_[parameter].tensor.mutable_grad();
  if (holds_exchanged_[parameter] && gradient.defined()) {
    const at::NoGradGuard no_grad;
    gradient.zero_();
  }
  holds_exchanged_[parameter] = false;
}

void Reducer::after_gradient(std::size_t parameter, bool defined) {
  ++gradients_[parameter];
  if (defined) used_[parameter] = true;
  if (passive()) return;
  const bool leaving = overlapping_ && in_backward();
  if (leaving && buckets().bucket_of(parameter) < next_bucket_) {
    fail("[ddp] " + names_[parameter] +
         ": a second gradient in one backward, after its bucket had left; use static_graph, or overlap off");
    return;
  }
  adopt(parameter);
  if (leaving) leave_ready_buckets();
}

/// Where gradients live in the buckets, moves one there that autograd made elsewhere.
void Reducer::adopt(std::size_t parameter) {
  at::Tensor& gradient = parameters_[parameter].tensor.mutable_grad();
  if (!gradient.defined()) return;
  if (gradient.requires_grad()) {
    fail("[ddp] " + names_[parameter] +
         ": its gradient has a graph of its own (create_graph), which an exchange would cut; take such gradients with "
         "autograd::grad");
    return;
  }
  if (!options_.gradient_as_bucket_view) return;
  const at::Tensor& view = buckets().view(parameter);
  copy_gradient(gradient, view);
  gradient = view;
}

void Reducer::check_scope(bool synchronize) {
  if (synchronize != no_sync_ || warned_of_scope_ || world_.size() == 1) return;
  warned_of_scope_ = true;
  log_warn(synchronize ? "[ddp] no_sync: forward ran outside the scope and backward inside, so gradients are exchanged "
                         "all the same, for forward decides; put forward into the scope too"
                       : "[ddp] no_sync: forward ran inside the scope and backward outside, so gradients are not "
                         "exchanged, for forward decides; end the scope after backward");
}

void Reducer::begin(bool synchronize) {
  check_scope(synchronize);
  if (thread_) thread_->wait();  // for what a pass that failed has left
  next_bucket_ = 0;
  overlapping_ = synchronize && thread_ && !passive() && (!options_.static_graph || (graph_ && exchanges_ > 0));
  if (overlapping_) leave_ready_buckets();
}

void Reducer::check_graph() {
  if (!options_.static_graph) return;
  if (!graph_) {
    graph_ = gradients_;
    return;
  }
  const auto differ = std::ranges::mismatch(*graph_, gradients_);
  if (differ.in1 == graph_->end()) return;
  fail("[ddp] backward " + std::to_string(backwards_) + ": " +
       names_[static_cast<std::size_t>(differ.in1 - graph_->begin())] + " got " + std::to_string(*differ.in2) +
       " gradients, " + std::to_string(*differ.in1) +
       " in the first backward; with static_graph every backward is the same: set static_graph false");
}

void Reducer::end(bool synchronize) {
  ++backwards_;
  ++passes_;
  check_graph();
  if (const std::string change = model_change_ ? model_change_() : ""; !change.empty()) {
    fail("[ddp] rank " + std::to_string(world_.rank()) + ", backward " + std::to_string(backwards_) +
         ": the model was changed between a forward and its backward: " + change +
         "; change it before the forward, on every rank");
  }
  if (const auto changed = watch_->changed_parameter(); changed && world_.size() > 1) {
    fail("[ddp] backward " + std::to_string(backwards_) + ": " + names_[*changed] +
         " was changed while backward ran, as by a hook that steps an optimizer with this rank's own gradient; step "
         "after backward, which ends with the exchange");
  }
  std::ranges::fill(gradients_, 0);
  if (synchronize) exchange(report());
}

}  // namespace samegrad
