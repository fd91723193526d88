#include "samegrad/ddp/autograd_watch.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using torch::autograd::variable_list;

constexpr int kNoTask = -1;

/// Whether the engine runs for autograd::grad(), which hands gradients to its caller and gives parameters none.
bool captures_gradients() {
  const auto* const nodes = torch::autograd::get_current_graph_task_exec_info();
  return nodes != nullptr &&
         std::ranges::any_of(*nodes, [](const auto& node) { return node.second.captures_ != nullptr; });
}

[[noreturn]] void refuse_late_backward() {
  throw InputError(
      "ddp",
      "backward of a forward whose DistributedDataParallel is gone, or was laid out anew as parameters were "
      "frozen, unfrozen or converted: its gradients would be this rank's own; run backward before that");
}

}  // namespace

/// Note [Passes]
/// Each run of autograd's engine is a graph task with a number. A pass begins with the hook on a watched output, in the
/// outermost task that goes through the model; a callback queued there runs when that task ends. Gradients of
/// parameters that the loss uses directly can come before that hook, in the same task. A pass that an exception ends
/// has no end to be told of; it is over when its task is destroyed.
struct AutogradWatch::State {
  AutogradEvents events;
  bool paused = false;
  int pass = kNoTask;        ///< task of the pass that runs now
  int early_task = kNoTask;  ///< task of gradients that came outside a pass
  std::int64_t stray_passes = 0;
  bool synchronize = false;
  bool gone = false;  ///< the watch was destroyed
  std::vector<NamedTensor> parameters;
  std::vector<ValueMark> marks_at_begin;  ///< by parameter

  bool in_pass() const { return pass != kNoTask; }

  void gradient(std::size_t parameter, bool defined) {
    if (!in_pass()) {
      const int task = torch::autograd::get_current_graph_task_id();
      if (early_task != task) {
        if (early_task != kNoTask) ++stray_passes;
        early_task = task;
      }
    }
    events.after_gradient(parameter, defined);
  }

  /// Goes with the callbacks of a task: also where an exception ended it before they were called.
  struct EndOfTask {
    explicit EndOfTask(std::shared_ptr<State> owner) : state(std::move(owner)), task(state->pass) {}
    ~EndOfTask() {
      if (state->pass == task) state->pass = kNoTask;
    }
    EndOfTask(const EndOfTask&) = delete;
    EndOfTask& operator=(const EndOfTask&) = delete;

    std::shared_ptr<State> state;
    int task;
  };

  static void begin(const std::shared_ptr<State>& state, bool synchronize) {
    if (captures_gradients()) return;
    if (state->gone && synchronize) refuse_late_backward();
    if (state->paused) return;
    const int task = torch::autograd::get_current_graph_task_id();
    if (state->in_pass()) {
      state->synchronize = state->synchronize || synchronize;
      return;
    }
    state->pass = task;
    state->synchronize = synchronize;
    state->marks_at_begin = marks_of(state->parameters);
    if (state->early_task == task) state->early_task = kNoTask;
    const auto whole_task = std::make_shared<EndOfTask>(state);
    torch::autograd::Engine::get_default_engine().queue_callback([state, whole_task] {
      if (state->paused) return;
      state->pass = kNoTask;
      state->events.end(state->synchronize);
    });
    state->events.begin(synchronize);
  }
};

struct AutogradWatch::Hook {
  std::shared_ptr<torch::autograd::Node> accumulator;  // held, or its hooks would vanish with it
  std::uintptr_t after = 0;
  unsigned before = 0;
  bool has_before = false;
};

AutogradWatch::AutogradWatch(const std::vector<NamedTensor>& parameters, AutogradEvents events)
    : state_(std::make_shared<State>()), hooks_(parameters.size()) {
  state_->events = std::move(events);
  state_->parameters = parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Hook& hook = hooks_[i];
    hook_accumulator(i);
    if (state_->events.before_gradient) {
      hook.has_before = true;
      hook.before = parameters[i].tensor.register_hook([state = state_.get(), i](const at::Tensor&) {
        if (!state->paused) state->events.before_gradient(i);
      });
    }
  }
}

/// Note [Accumulators]
/// set_data(), by which torch::load() puts values into a model, may give a parameter a new accumulator, without hooks.
void AutogradWatch::hook_accumulator(std::size_t parameter) {
  Hook& hook = hooks_[parameter];
  const at::Tensor& tensor = state_->parameters[parameter].tensor;
  if (!tensor.requires_grad()) return;  // frozen, which others see to
  std::shared_ptr<torch::autograd::Node> accumulator = torch::autograd::impl::grad_accumulator(tensor);
  if (accumulator == hook.accumulator) return;
  if (hook.accumulator) hook.accumulator->del_post_hook(hook.after);
  hook.accumulator = std::move(accumulator);
  hook.after = hook.accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
      [state = state_.get(), parameter](const variable_list& outputs, const variable_list& inputs) {
        if (!state->paused) state->gradient(parameter, !inputs.empty() && inputs[0].defined());
        return outputs;
      }));
}

AutogradWatch::~AutogradWatch() {
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    const Hook& hook = hooks_[i];
    hook.accumulator->del_post_hook(hook.after);
    if (hook.has_before) state_->parameters[i].tensor.remove_hook(hook.before);
  }
  // A graph of this model that still lives has nobody to tell.
  state_->paused = true;
  state_->gone = true;
}

void AutogradWatch::watch(const std::vector<at::Tensor>& outputs, bool synchronize) {
  for (std::size_t i = 0; i < hooks_.size(); ++i) hook_accumulator(i);
  for (const at::Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    output.register_hook([state = state_, synchronize](const at::Tensor&) { State::begin(state, synchronize); });
  }
}

bool AutogradWatch::in_backward() const { return state_->in_pass(); }

std::int64_t AutogradWatch::stray_passes() const {
  const bool open = state_->early_task != kNoTask && torch::autograd::get_current_graph_task_id() == kNoTask;
  return state_->stray_passes + (open ? 1 : 0);
}

std::optional<std::size_t> AutogradWatch::changed_parameter() const {
  return first_changed(state_->parameters, state_->marks_at_begin);
}

void AutogradWatch::set_paused(bool paused) { state_->paused = paused; }

}  // namespace samegrad
