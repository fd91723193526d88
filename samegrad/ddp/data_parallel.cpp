#include "samegrad/ddp/data_parallel.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "samegrad/base/allowed_cores.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/comm/environment.h"
#include "samegrad/ddp/agreed_options.h"
#include "samegrad/ddp/model_agreement.h"

namespace samegrad {
namespace {

void refuse(const std::string& message) { throw InputError("ddp", message); }

/// Exchanging while backward computes pays where both have a core and the exchange waits for a network: with two ranks
/// on two cores it made Gloo slower.
Overlap chosen_overlap(Overlap asked, const World& world) {
  if (asked != Overlap::kAuto) return asked;
  const int local_ranks = read_number(process_environment, kLocalWorldSizeVariable).value_or(world.size());
  return world.backend() == "gloo" && allowed_cores() >= 2 * local_ranks ? Overlap::kOn : Overlap::kOff;
}

}  // namespace

NoSync::NoSync(DataParallel& owner) : owner_(owner.self_) { owner.reducer_->set_no_sync(++owner.no_sync_scopes_ > 0); }

NoSync::~NoSync() {
  if (const auto owner = owner_.lock()) owner->reducer_->set_no_sync(--owner->no_sync_scopes_ > 0);
}

DataParallel::DataParallel(std::function<ModelTensors()> read_model, const World& world,
                           DistributedDataParallelOptions options, std::function<std::uint64_t()> mark_parameters)
    : read_model_(std::move(read_model)),
      world_(world.with_timeout(options.timeout.count() > 0 ? options.timeout : world.timeout())),
      options_(std::move(options)),
      mark_parameters_(std::move(mark_parameters)) {
  if (!mark_parameters_) mark_parameters_ = [this] { return mark_of_parameters(read_model_().parameters); };
  const ModelTensors model = read_model_();
  // What one rank alone can find wrong is told to all before anything is exchanged.
  agree_no_failure(world_.communicator(), failure_of(model), static_cast<int>(ExitCode::kBadInput),
                   {"wrapping a model", 0, world_.timeout()});
  agreed_parameters_ = forms_of_parameters(model.parameters);
  take_buffers_as_agreed(model.buffers);
  agree_on_form(world_, option_lines(options_), agreed_parameters_, agreed_buffers_);
  const bool overlaps = chosen_overlap(options_.overlap, world_) == Overlap::kOn;
  options_.overlap = world_.any(!overlaps) ? Overlap::kOff : Overlap::kOn;
  lay_out(model);
  if (!options_.init_sync) return;
  broadcast_tensors(world_, parameters_, 0, "parameters");
  sync_buffers();
}

void DataParallel::set_paused(bool paused) {
  paused_ = paused;
  reducer_->set_paused(paused);
}

void DataParallel::set_in_window(bool open) {
  if (open && !reducer_->change().empty()) {  // the window's agreement has compared it
    reducer_->set_change("", 0);
    check_same_values(world_, parameters_, "check after the model has changed");  // of new parameters
  }
  if (open && std::exchange(buffers_changed_, false)) take_buffers_as_agreed(read_model_().buffers);
  in_window_ = open;
}

void DataParallel::register_comm_hook(CommHook hook) {
  if (has_forward_) {
    refuse("communication hook: registered after a forward; register it on every rank before the first one");
  }
  reducer_->register_hook(std::move(hook));
}

void DataParallel::make_window_parameters() {
  if (window_parameters_) return;
  std::vector<NamedTensor> trained;
  std::ranges::copy_if(parameters_, std::back_inserter(trained),
                       [](const NamedTensor& named) { return named.tensor.requires_grad(); });
  try {
    window_parameters_ = std::make_shared<const ParameterSet>(std::move(trained));
  } catch (const InputError& error) {
    if (parameters_changed_) refuse_here(error.what());
    throw;
  }
  window_pool_ = std::make_shared<GradientBufferPool>(*window_parameters_);
}

ModelWindow DataParallel::window(WindowRequest request) {
  if (in_window_) {
    refuse("window: the window of update " + std::to_string(windows_) +
           " is open; end it with reduce() before the next one");
  }
  if (joining_ != nullptr) {
    refuse(
        "window inside join: a window has its own way for ranks without data; leave join away, bring .atoms = 0, and "
        "end the loop by world.any(has_data)");
  }
  follow_changes();
  if (buffers_differ_) sync_buffers();
  make_window_parameters();
  std::vector<NamedTensor> buffers = read_model_().buffers;
  request.model_change = reducer_->change();
  if (const std::string change = buffer_change(buffers); !change.empty()) {
    buffers_changed_ = true;
    request.model_change += (request.model_change.empty() ? "" : ", ") + change;
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
          std::move(buffers),
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
  if (at::GradMode::is_enabled()) follow_changes();  // else nothing is exchanged that could differ
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
  has_forward_ = true;
  reducer_->watch(outputs, no_sync_scopes_ == 0);
}

void DataParallel::sync_buffers() {
  broadcast_buffers(0);
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
  const std::string layout = reducer_->describe();
  return "DistributedDataParallel: " + std::to_string(world_.size()) + " ranks over " + std::string(world_.backend()) +
         ", " + said(options_.reduction == GradientReduction::kSum, "sum", "mean") + " of gradients in " +
         said(options_.order == ReductionOrder::kNative, "the backend's own order", "canonical order") + ", overlap " +
         said(options_.overlap == Overlap::kOn, "on", "off") + ", buffers " +
         said(options_.broadcast_buffers, "from rank 0 before each training forward",
              "each rank's own in training, rank 0's before evaluation") +
         ", bucket layout " + xxh3_128_hex(layout) + "\n" + layout;
}

}  // namespace samegrad
