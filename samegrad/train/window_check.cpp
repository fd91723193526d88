#include "samegrad/train/window_check.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/model/model.h"
#include "samegrad/objective/scale.h"
#include "samegrad/train/objective_terms.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/whole_gradient.h"
#include "samegrad/train/window_batches.h"
#include "samegrad/train/window_gradient.h"
#include "samegrad/train/wrapped_parameters.h"

namespace samegrad {
namespace {

void bind_gradients(const FlatParameters& parameters, GradientBuffer& buffer) {
  for (std::size_t i = 0; i < parameters.tensors().size(); ++i) {
    parameters.tensors()[i].mutable_grad() = buffer.tensors[i];
  }
}

// The lesson's loop: local losses accumulate in .grad without any exchange, then one mean over ranks.
std::vector<float> lesson_form(const ObjectiveConfig& objective, const Model& model, const WindowBatches& batches,
                               AtomRange range, double global_count, const CallLabel& label, Communicator& comm,
                               FlatParameters& parameters) {
  GradientBuffer buffer(parameters.set());
  bind_gradients(parameters, buffer);
  const auto factor = [&](double count) { return loss_sum_factor(GradientReduction::kMean, comm.size(), count); };
  const TermFactors factors{
      .units = factor(global_count), .z_loss = factor(static_cast<double>(batches.window_tokens)), .l2 = factor(1.0)};
  for (std::size_t i = 0; i < batches.atoms.size(); ++i) {
    const std::vector<at::Tensor> sums = atom_sums(model, parameters.tensors(), objective, batches.atoms[i],
                                                   std::nullopt, range.begin + static_cast<std::int64_t>(i));
    if (const at::Tensor loss = with_factors(sums, objective, factors); loss.defined()) loss.backward();
  }
  at::Tensor flat = at::from_blob(buffer.values().data(), {std::ssize(buffer.values())});
  exchange_gradient(comm, flat, {.reduction = GradientReduction::kMean}, label);
  return {buffer.values().begin(), buffer.values().end()};
}

}  // namespace

WindowCheck check_window(const RunConfig& config, const SampleSource& train, const PlanWindow& window,
                         const std::string& digest, Communicator& comm, TrainState& state) {
  const WindowGradient exact = window_gradient(config, train, window, digest, comm, state.parameters);
  WindowCheck check{.loss = exact.loss,
                    .exact = {exact.gradient.span().begin(), exact.gradient.span().end()},
                    .lesson_form = {},
                    .controls = control_gradients(config, train, window, state.parameters)};
  const std::unique_ptr<Model> model = make_model(config.model, state.parameters.tensors());
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  check.lesson_form = lesson_form(
      config.objective, *model, window_batches(window, range, train, training_objective(config, train)), range,
      check.loss.divisor(), {"lesson's mean reduction", window.update, std::chrono::seconds(config.run.timeout_s)},
      comm, state.parameters);
  for (const at::Tensor& tensor : state.parameters.tensors()) tensor.mutable_grad().reset();
  return check;
}

EmptyWindowCheck check_empty_window(const RunConfig& config, const std::string& digest, Communicator& comm,
                                    TrainState& state) {
  const std::chrono::milliseconds timeout = std::chrono::seconds(config.run.timeout_s);
  const std::string before = elements_hash(state.parameters.layout(), state.parameters.values());
  const std::unique_ptr<DataParallel> ddp = wrap_parameters(state.parameters, comm, config.run);
  const AtomRange range =
      rank_ranges(config.plan.atoms_per_window(), comm.size())[static_cast<std::size_t>(comm.rank())];
  std::string refusal;
  try {
    const ModelWindow window = ddp->window({.atoms = range.size(), .update = 1, .digest = digest});
  } catch (const EmptyWindowError& error) {
    refusal = error.what();
  }
  struct Answer {
    std::array<char, 400> line{};
    bool refused = false;
    bool untouched = false;
  };
  Answer mine{.refused = !refusal.empty(),
              .untouched = before == elements_hash(state.parameters.layout(), state.parameters.values())};
  std::copy_n(refusal.begin(), std::min(refusal.size(), mine.line.size() - 1), mine.line.begin());
  std::vector<Answer> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                  {"refusal check", 1, timeout});
  return {std::ranges::count_if(all, [&](const Answer& a) { return a.refused && a.line == all.front().line; }),
          std::ranges::all_of(all, [](const Answer& a) { return a.untouched; }), refusal};
}

}  // namespace samegrad
