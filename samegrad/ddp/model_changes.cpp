// What DataParallel does where the model is no longer the one that was wrapped. No rank enters an exchange because of
// its own change: it makes the buckets of the model as it is now, and tells in the next exchange that all ranks enter.
#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/ddp/agreed_options.h"
#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/ddp/data_parallel.h"
#include "samegrad/ddp/model_agreement.h"

namespace samegrad {
namespace {

void refuse(const std::string& message) { throw InputError("ddp", message); }

void check_tensor(const NamedTensor& named) {
  const at::Tensor& tensor = named.tensor;
  if (!tensor.device().is_cpu()) {
    refuse(named.name + " is on " + tensor.device().str() +
           ": this build exchanges CPU tensors only; move the model with module->to(torch::kCPU)");
  }
  if (tensor.layout() != at::kStrided || tensor.is_nested()) {
    refuse(named.name + " is no dense tensor: allowed are dense parameters and buffers");
  }
  if (at::has_internal_overlap(tensor) == at::MemOverlap::Yes) {
    refuse(named.name + " has elements that share memory (expand): register a copy of it, made by contiguous()");
  }
  if (!tensor.requires_grad()) return;
  if (!tensor.is_leaf()) {
    refuse(named.name + " is computed from other tensors: allowed are leaves; register what it is computed from");
  }
  if (!can_exchange(tensor.scalar_type())) {
    refuse(named.name + " is " + c10::toString(tensor.scalar_type()) +
           ": trained parameters may be float16, bfloat16, float32, float64, complex64, complex128");
  }
}

std::vector<NamedTensor> trained_of(const std::vector<NamedTensor>& parameters) {
  std::vector<NamedTensor> trained;
  std::ranges::copy_if(parameters, std::back_inserter(trained),
                       [](const NamedTensor& named) { return named.tensor.requires_grad(); });
  return trained;
}

}  // namespace

/// "" or what this rank can find wrong alone.
std::string DataParallel::failure_of(const ModelTensors& model) const {
  try {
    check_options(options_, model.parameters);
    std::ranges::for_each(model.parameters, check_tensor);
    std::ranges::for_each(model.buffers, check_tensor);
    const std::vector<NamedTensor> trained = trained_of(model.parameters);
    if (trained.empty()) refuse("no parameter requires a gradient: there is nothing to exchange; use the model itself");
    if (const std::string name = claims_.held_elsewhere(trained); !name.empty()) {
      refuse(name +
             " is trained by another DistributedDataParallel that still lives: both would exchange its gradient; use "
             "that one, or destroy it first");
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Makes everything whose shape is the model's. Local.
void DataParallel::lay_out(const ModelTensors& model) {
  parameters_ = model.parameters;
  parameter_forms_ = forms_of_parameters(parameters_);
  parameters_mark_ = mark_parameters_();
  for (const NamedTensor& named : parameters_) {
    if (!named.tensor.requires_grad())
      named.tensor.mutable_grad().reset();  // an optimizer would go on stepping with it
  }
  std::vector<NamedTensor> trained = trained_of(parameters_);
  claims_.replace(trained);
  window_pool_.reset();
  window_parameters_.reset();
  if (reducer_) reducer_->unhook();  // autograd's nodes remember the form of their parameter
  auto reducer = std::make_unique<Reducer>(std::move(trained), world_, options_);
  if (reducer_) reducer->follow(*reducer_);
  reducer_ = std::move(reducer);
  reducer_->set_model_change([this] { return change_since_layout(); });
}

std::string DataParallel::change_since_layout() const {
  if (mark_parameters_() == parameters_mark_) return "";
  return changes_of_form(parameter_forms_, forms_of_parameters(read_model_().parameters));
}

void DataParallel::follow_changes() {
  if (parameters_changed_ && reducer_->change().empty()) {
    parameters_changed_ = false;
    agreed_parameters_ = parameter_forms_;
  }
  if (mark_parameters_() == parameters_mark_) return;
  const ModelTensors model = read_model_();
  if (const std::string failure = failure_of(model); !failure.empty()) refuse_here(failure);
  lay_out(model);
  std::string change = changes_of_form(agreed_parameters_, parameter_forms_);
  if (world_.rank() == 0) log_info("[ddp] the model has changed, its buckets are laid out anew: " + change);
  parameters_changed_ = !change.empty();
  reducer_->set_change(std::move(change),
                       static_cast<std::size_t>(std::ranges::count_if(agreed_parameters_, &TensorForm::trained)));
}

/// "" or what of the buffers has changed since all ranks agreed on them.
std::string DataParallel::buffer_change(const std::vector<NamedTensor>& buffers) {
  if (mark_of_buffers(buffers) == buffers_mark_) return "";
  try {
    std::ranges::for_each(buffers, check_tensor);
  } catch (const Error& error) {
    refuse_here(error.what());
  }
  return changes_of_form(agreed_buffers_, forms_of_buffers(buffers));
}

void DataParallel::take_buffers_as_agreed(const std::vector<NamedTensor>& buffers) {
  agreed_buffers_ = forms_of_buffers(buffers);
  buffers_mark_ = mark_of_buffers(buffers);
}

/// A broadcast tells only what its root has: the name of the call, which ranks compare, tells of a change.
void DataParallel::broadcast_buffers(int root) {
  const std::vector<NamedTensor> buffers = read_model_().buffers;
  const std::string change = buffer_change(buffers);
  const std::string name = change.empty() ? "buffers" : "changed: " + change;
  if (!change.empty() && buffers.empty()) world_.communicator().barrier({name, 0, world_.timeout()});
  broadcast_tensors(world_, buffers, root, name);
  if (!change.empty()) take_buffers_as_agreed(buffers);
}

/// For what other ranks may not have: they are told why this one is missing.
void DataParallel::refuse_here(const std::string& failure) {
  world_.communicator().leave(failure);
  throw_failure_line(failure, static_cast<int>(ExitCode::kBadInput));
}

}  // namespace samegrad
