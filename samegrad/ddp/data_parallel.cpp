#include "samegrad/ddp/data_parallel.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <thread>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/comm/environment.h"
#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/ddp/model_agreement.h"

namespace samegrad {
namespace {

void refuse(const std::string& message) { throw InputError("ddp", message); }

void check_options(const DistributedDataParallelOptions& options, const std::vector<NamedTensor>& parameters) {
  if (!(options.bucket_cap_mb > 0.0) || !(options.first_bucket_mb > 0.0)) {
    refuse("bucket_cap_mb " + std::to_string(options.bucket_cap_mb) + ", first_bucket_mb " +
           std::to_string(options.first_bucket_mb) + ": allowed is above 0");
  }
  if (options.reduction == GradientReduction::kWindow) {
    refuse("reduction kWindow: allowed are kMean and kSum; DistributedDataParallel::window needs no choice");
  }
  for (const std::string& name : options.delay_all_reduce) {
    if (std::ranges::find(parameters, name, &NamedTensor::name) == parameters.end()) {
      refuse("delay_all_reduce '" + name + "': no parameter has this name; names are as named_parameters() has them");
    }
  }
}

void check_tensor(const NamedTensor& named) {
  if (!named.tensor.device().is_cpu()) {
    refuse(named.name + " is on " + named.tensor.device().str() +
           ": this build exchanges CPU tensors only; move the model with module->to(torch::kCPU)");
  }
  if (named.tensor.layout() != at::kStrided) {
    refuse(named.name + " is no dense tensor: allowed are dense parameters and buffers");
  }
  if (named.tensor.requires_grad() && !can_exchange(named.tensor.scalar_type())) {
    refuse(named.name + " is " + c10::toString(named.tensor.scalar_type()) +
           ": trained parameters may be float16, bfloat16, float32, float64, complex64, complex128");
  }
}

/// Exchanging while backward computes pays where both have a core and the exchange waits for a network: with two ranks
/// on two cores it made Gloo slower.
Overlap chosen_overlap(Overlap asked, const World& world) {
  if (asked != Overlap::kAuto) return asked;
  const int local_ranks = read_number(process_environment, kLocalWorldSizeVariable).value_or(world.size());
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return world.backend() == "gloo" && cores >= 2 * local_ranks ? Overlap::kOn : Overlap::kOff;
}

std::string failure_of(const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

NoSync::NoSync(DataParallel& owner) : owner_(owner.self_) { owner.reducer_->set_no_sync(++owner.no_sync_scopes_ > 0); }

NoSync::~NoSync() {
  if (const auto owner = owner_.lock()) owner->reducer_->set_no_sync(--owner->no_sync_scopes_ > 0);
}

DataParallel::DataParallel(std::function<ModelTensors()> read_model, const World& world,
                           DistributedDataParallelOptions options)
    : read_model_(std::move(read_model)), world_(world.with_timeout(options.timeout)), options_(std::move(options)) {
  options_.overlap = chosen_overlap(options_.overlap, world_);
  build();
  if (!options_.init_sync) return;
  broadcast_tensors(world_, parameters_, 0, "parameters");
  sync_buffers();
}

/// What one rank alone can find wrong is told to all before anything is exchanged.
void DataParallel::build() {
  const ModelTensors model = read_model_();
  parameters_ = model.parameters;
  std::vector<NamedTensor> trained;
  trained_.clear();
  dtypes_.clear();
  for (const NamedTensor& named : parameters_) {
    trained_.push_back(named.tensor.requires_grad());
    dtypes_.push_back(named.tensor.scalar_type());
    if (trained_.back()) {
      trained.push_back(named);
    } else {
      named.tensor.mutable_grad().reset();  // an optimizer would go on stepping with it
    }
  }
  const std::string failure = failure_of([&] {
    check_options(options_, parameters_);
    std::ranges::for_each(model.parameters, check_tensor);
    std::ranges::for_each(model.buffers, check_tensor);
    if (trained.empty()) refuse("no parameter requires a gradient: there is nothing to exchange; use the model itself");
  });
  agree_no_failure(world_.communicator(), failure, static_cast<int>(ExitCode::kBadInput),
                   {"wrapping a model", 0, world_.timeout()});
  agree_on_form(world_, model.parameters, model.buffers);
  window_pool_.reset();
  window_parameters_.reset();
  CommHook hook = reducer_ ? reducer_->hook() : CommHook();
  reducer_.reset();  // its hooks, before new ones
  reducer_ = std::make_unique<Reducer>(std::move(trained), world_, options_);
  if (hook) reducer_->register_hook(std::move(hook));
  reducer_->set_no_sync(no_sync_scopes_ > 0);
}

bool DataParallel::form_changed() const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    if (tensor.requires_grad() != trained_[i] || tensor.scalar_type() != dtypes_[i]) return true;
  }
  return false;
}

void DataParallel::set_paused(bool paused) {
  paused_ = paused;
  reducer_->set_paused(paused);
}

void DataParallel::rebuild_where_changed() {
  if (!form_changed()) return;
  if (world_.rank() == 0)
    log_info("[ddp] parameters were frozen, unfrozen or converted: the buckets are laid out anew");
  build();
}

ModelWindow DataParallel::window(WindowRequest request) {
  if (in_window_) refuse("window(): another one is open; call its reduce() and end its scope first");
  rebuild_where_changed();
  if (buffers_differ_) sync_buffers();
  if (!window_parameters_) {
    std::vector<NamedTensor> trained;
    std::ranges::copy_if(parameters_, std::back_inserter(trained),
                         [](const NamedTensor& named) { return named.tensor.requires_grad(); });
    window_parameters_ = std::make_shared<const ParameterSet>(std::move(trained));
    window_pool_ = std::make_shared<GradientBufferPool>(*window_parameters_);
  }
  if (abandoned_window_ != 0 && request.failure.empty()) {
    request.failure = "[ddp] rank " + std::to_string(world_.rank()) + ": the window of update " +
                      std::to_string(abandoned_window_) +
                      " was left without reduce(); call it in every window, it is "
                      "the exchange";
  }
  if (request.update == 0) request.update = windows_ + 1;
  windows_ = request.update;
  if (!request.generator_seed) request.generator_seed = options_.window_seed;
  return {{self_, world_, window_parameters_, window_pool_},
          request,
          read_model_().buffers,
          {.timeout = options_.timeout, .find_unused_parameters = options_.find_unused_parameters}};
}

void DataParallel::after_window() {
  ++reduced_windows_;
  if (options_.check_sync_every > 0 && reduced_windows_ % options_.check_sync_every == 0) {
    check_same_values(world_, parameters_, "check after window " + std::to_string(windows_));
  }
}

void DataParallel::before_forward(bool training) {
  if (paused_ || reducer_->in_backward()) return;
  if (in_window_) {
    refuse(
        "forward outside window.backward: a window is open; call forward inside the callable that "
        "window.backward runs, so that seeds, buffers and gradients are in place");
  }
  rebuild_where_changed();
  const bool synchronize = at::GradMode::is_enabled() && no_sync_scopes_ == 0;
  const bool buffers = training ? options_.broadcast_buffers && !last_was_no_sync_ : buffers_differ_;
  if (training) last_was_no_sync_ = no_sync_scopes_ > 0;
  if (joining_ != nullptr) {
    round_of_join({.has_data = true, .synchronize = synchronize, .buffers = buffers});
  }
  if (buffers) broadcast_buffers(first_with_data_);
  buffers_differ_ = training;
}

void DataParallel::after_forward(const std::vector<at::Tensor>& outputs) {
  if (paused_ || reducer_->in_backward() || !at::GradMode::is_enabled()) return;
  reducer_->watch(outputs, no_sync_scopes_ == 0);
}

void DataParallel::broadcast_buffers(int root) { broadcast_tensors(world_, read_model_().buffers, root, "buffers"); }

void DataParallel::sync_buffers() {
  broadcast_buffers(0);
  buffers_differ_ = false;
}

DataParallel::JoinRound DataParallel::round_of_join(const JoinRound& mine) {
  const auto code =
      static_cast<std::uint8_t>((mine.has_data ? 1 : 0) | (mine.synchronize ? 2 : 0) | (mine.buffers ? 4 : 0));
  std::vector<std::uint8_t> all(static_cast<std::size_t>(world_.size()));
  world_.communicator().all_gather(std::as_bytes(std::span(&code, 1)), std::as_writable_bytes(std::span(all)),
                                   {"join", 0, world_.timeout()});
  JoinRound round;
  std::int64_t with_data = 0;
  int without = -1;
  for (int rank = world_.size() - 1; rank >= 0; --rank) {
    const std::uint8_t said = all[static_cast<std::size_t>(rank)];
    if (said == 0) {
      without = rank;
      continue;
    }
    const JoinRound other{.has_data = true, .synchronize = (said & 2) != 0, .buffers = (said & 4) != 0};
    if (with_data++ > 0 && (other.synchronize != round.synchronize || other.buffers != round.buffers)) {
      throw RunError("ddp", "join: ranks " + std::to_string(rank) + " and " + std::to_string(first_with_data_) +
                                " differ in training, evaluation or no_sync at this forward; all ranks with data must "
                                "do the same");
    }
    round = other;
    first_with_data_ = rank;
  }
  if (round.has_data && without >= 0 && joining_->throw_on_early_termination) {
    throw RunError("ddp", "join: rank " + std::to_string(without) +
                              " is out of data, others are not; give all ranks as many batches, or set "
                              "throw_on_early_termination false");
  }
  if (!joining_->divide_by_initial_world_size) reducer_->set_mean_over(with_data);
  return round;
}

void DataParallel::join(const std::function<void()>& loop, const JoinOptions& options) {
  if (joining_ != nullptr) throw InputError("ddp", "join: one inside another; allowed is one at a time");
  joining_ = &options;
  try {
    loop();
  } catch (const std::exception& error) {
    joining_ = nullptr;
    world_.communicator().leave(error.what());  // the others must not wait for this rank
    throw;
  }
  try {
    for (JoinRound round = round_of_join({}); round.has_data; round = round_of_join({})) {
      if (round.buffers) broadcast_buffers(first_with_data_);
      if (round.synchronize) reducer_->exchange_without_data();
    }
  } catch (...) {
    joining_ = nullptr;
    throw;
  }
  joining_ = nullptr;
  reducer_->set_mean_over(0);
  const int root = std::exchange(first_with_data_, 0);
  broadcast_tensors(world_, parameters_, root, "parameters after join");
  broadcast_buffers(root);
  buffers_differ_ = false;
}

void DataParallel::check_sync() {
  check_same_values(world_, parameters_, "check of parameters");
  // Between a training forward and the next exchange of buffers each rank has its own.
  if (!world_.any(buffers_differ_)) check_same_values(world_, read_model_().buffers, "check of buffers");
}

void DataParallel::log_choices() const {
  if (world_.rank() != 0 || world_.size() == 1) return;
  const std::string all = describe();
  log_info("[ddp] " + all.substr(0, all.find('\n')));
}

std::string DataParallel::describe() const {
  const auto said = [](bool value, const char* yes, const char* no) { return std::string(value ? yes : no); };
  return "DistributedDataParallel: " + std::to_string(world_.size()) + " ranks over " + std::string(world_.backend()) +
         ", " + said(options_.reduction == GradientReduction::kSum, "sum", "mean") + " of gradients in " +
         said(options_.order == ReductionOrder::kNative, "the backend's own order", "canonical order") + ", overlap " +
         said(options_.overlap == Overlap::kOn, "on", "off") + ", buffers " +
         said(options_.broadcast_buffers, "from rank 0 before each training forward",
              "each rank's own in training, rank 0's before evaluation") +
         "\n" + reducer_->describe();
}

}  // namespace samegrad
