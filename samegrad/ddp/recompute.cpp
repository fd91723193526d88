#include "samegrad/ddp/recompute.h"

#include <ATen/Context.h>
#include <ATen/SequenceNumber.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr const char* kStage = "recompute";

/// The states of the default generators of the CPU and of the inputs' devices.
class GeneratorStates {
 public:
  explicit GeneratorStates(const std::vector<at::Tensor>& inputs) {
    add(at::Device(at::kCPU));
    for (const at::Tensor& input : inputs) {
      if (input.defined() && !input.is_cpu()) add(input.device());
    }
  }

  /// The generators have these states from now on; returns those they had.
  GeneratorStates exchange() const {
    GeneratorStates before;
    for (auto [generator, state] : saved_) {
      const std::lock_guard lock(generator.mutex());
      before.saved_.emplace_back(generator, generator.get_state());
      generator.set_state(state);
    }
    return before;
  }

 private:
  GeneratorStates() = default;
  void add(at::Device device) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard lock(generator.mutex());
    saved_.emplace_back(generator, generator.get_state());
  }

  std::vector<std::pair<at::Generator, at::Tensor>> saved_;
};

/// The values of buffers, put into them without a trace in autograd: what has saved a buffer does not take it for
/// modified.
class BufferValues {
 public:
  explicit BufferValues(const std::vector<at::Tensor>& buffers) : buffers_(buffers) {
    for (const at::Tensor& buffer : buffers) values_.push_back(buffer.variable_data().clone());
  }

  /// The buffers have these values from now on; returns those they had.
  BufferValues exchange() const {
    BufferValues before(buffers_);
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].variable_data().copy_(values_[i]);
    return before;
  }

 private:
  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> values_;
};

/// What forward leaves to backward, beside the inputs.
struct Segment {
  RecomputedPart part;
  GeneratorStates generators;
  BufferValues buffers;
  std::vector<std::vector<std::int64_t>> output_shapes;
};

/// Holds generators and buffers at forward's values while it lives.
class ForwardsValues {
 public:
  explicit ForwardsValues(const Segment& segment)
      : generators_(segment.generators.exchange()), buffers_(segment.buffers.exchange()) {}
  ~ForwardsValues() {
    generators_.exchange();
    buffers_.exchange();
  }
  ForwardsValues(const ForwardsValues&) = delete;
  ForwardsValues& operator=(const ForwardsValues&) = delete;

 private:
  GeneratorStates generators_;
  BufferValues buffers_;
};

std::vector<std::vector<std::int64_t>> shapes_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) {
      throw InputError(kStage,
                       "output " + std::to_string(shapes.size()) + " of the part is undefined; return tensors only");
    }
    shapes.push_back(tensor.sizes().vec());
  }
  return shapes;
}

std::vector<std::int64_t> versions_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::int64_t> versions;
  for (const at::Tensor& tensor : tensors) versions.push_back(tensor.defined() ? tensor._version() : 0);
  return versions;
}

/// Throws where the graph of `outputs` holds an operation from before this part ran again: its tensor was computed
/// outside, so forward's graph cannot bring it its gradient.
void refuse_captured(const std::vector<at::Tensor>& outputs, std::uint64_t first_sequence_number) {
  std::vector<torch::autograd::Node*> open;
  std::unordered_set<torch::autograd::Node*> seen;
  const auto visit = [&](torch::autograd::Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const at::Tensor& output : outputs) visit(output.grad_fn().get());
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (node->num_outputs() == 0 || node->sequence_nr() == UINT64_MAX) continue;  // a leaf's accumulator
    if (node->thread_id() != at::RecordFunction::currentThreadId() || node->sequence_nr() < first_sequence_number) {
      throw InputError(kStage, "the part captures a tensor that is computed outside it, by " + node->name() +
                                   "; it would get no gradient: give it as an input");
    }
    for (const torch::autograd::Edge& edge : node->next_edges()) visit(edge.function.get());
  }
}

struct Recompute : torch::autograd::Function<Recompute> {
  /// `anchor` needs a gradient and is empty: with it, outputs do too where parameters alone need one.
  static std::vector<at::Tensor> forward(torch::autograd::AutogradContext* context, const at::Tensor& /*anchor*/,
                                         at::TensorList given, std::shared_ptr<Segment> segment) {
    const std::vector<at::Tensor> inputs = given.vec();
    const std::vector<std::int64_t> versions = versions_of(inputs);
    std::vector<at::Tensor> outputs = segment->part(inputs);
    if (versions_of(inputs) != versions) {
      throw InputError(kStage, "the part changes an input in place, so it cannot run again; let it work on a clone()");
    }
    segment->output_shapes = shapes_of(outputs);
    context->save_for_backward(inputs);
    context->saved_data["segment"] = at::IValue::make_capsule(c10::make_intrusive<Holder>(std::move(segment)));
    context->set_materialize_grads(false);
    return outputs;
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>& output_gradients) {
    const Segment& segment =
        *c10::static_intrusive_pointer_cast<Holder>(context->saved_data["segment"].toCapsule())->segment;
    if (at::GradMode::is_enabled()) {
      throw InputError(kStage,
                       "backward(create_graph): a recomputed part has no gradient of its gradient; call the part "
                       "itself");
    }
    if (!torch::autograd::Engine::get_default_engine().is_checkpoint_valid()) {
      throw InputError(kStage,
                       "torch::autograd::grad() and backward(inputs) do not reach the parameters of a recomputed "
                       "part; call backward(), or the part itself");
    }
    std::vector<at::Tensor> inputs;
    for (const at::Tensor& saved : context->get_saved_variables()) {
      inputs.push_back(saved.defined() ? saved.detach().set_requires_grad(saved.requires_grad()) : saved);
    }
    run_again(segment, inputs, output_gradients);
    std::vector<at::Tensor> gradients = {{}};
    for (const at::Tensor& input : inputs) gradients.push_back(input.defined() ? input.grad() : at::Tensor());
    gradients.emplace_back();
    return gradients;
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<Segment> held) : segment(std::move(held)) {}
    std::shared_ptr<Segment> segment;
  };

  /// The part's forward and backward, on leaves of its own.
  static void run_again(const Segment& segment, const std::vector<at::Tensor>& inputs,
                        const std::vector<at::Tensor>& output_gradients) {
    const at::AutoGradMode with_gradient(true);
    const std::uint64_t first_sequence_number = at::sequence_number::peek();
    const ForwardsValues values(segment);
    const std::vector<at::Tensor> outputs = segment.part(inputs);
    if (shapes_of(outputs) != segment.output_shapes) {
      throw InputError(kStage,
                       "the part has other outputs in backward than in forward; it must depend on its inputs, its "
                       "parameters and the default generators alone");
    }
    std::vector<at::Tensor> roots;
    std::vector<at::Tensor> root_gradients;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].requires_grad() || !output_gradients[i].defined()) continue;
      roots.push_back(outputs[i]);
      root_gradients.push_back(output_gradients[i]);
    }
    refuse_captured(roots, first_sequence_number);
    if (!roots.empty()) torch::autograd::backward(roots, root_gradients);
  }
};

}  // namespace

std::vector<at::Tensor> recompute_all(RecomputedPart part, const std::vector<at::Tensor>& inputs,
                                      const RecomputeOptions& options) {
  if (!at::GradMode::is_enabled()) return part(inputs);
  for (const at::DeviceType device : {at::kCPU, at::kCUDA}) {
    if (at::autocast::is_autocast_enabled(device)) {
      throw InputError(kStage,
                       "autocast is on; a recomputed part would run without it in backward: switch it on inside "
                       "the part");
    }
  }
  auto segment =
      std::make_shared<Segment>(Segment{std::move(part), GeneratorStates(inputs), BufferValues(options.buffers), {}});
  return Recompute::apply(at::empty({0}).requires_grad_(), at::TensorList(inputs), std::move(segment));
}

}  // namespace samegrad
