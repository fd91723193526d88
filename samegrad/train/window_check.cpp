#include "samegrad/train/window_check.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/ddp/mean_reduction.h"
#include "samegrad/ddp/window.h"
#include "samegrad/model/model.h"
#include "samegrad/objective/scale.h"
#include "samegrad/train/whole_gradient.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {
namespace {

// A label on a sample's first token is what a count before the shift would have counted too. Where targets are not
// shifted (the lesson), nothing precedes the first input and the two counts agree.
AtomCounts atom_counts(const PackedBatch& batch, const RunConfig& config) {
  AtomCounts counts{.units = batch.supervised_tokens(), .units_before_shift = batch.supervised_tokens()};
  if (config.data.task == "text") {
    for (std::int64_t sample = 0; sample < batch.samples(); ++sample) {
      const std::int64_t first = batch.offsets[static_cast<std::size_t>(sample)];
      counts.units_before_shift += batch.targets[static_cast<std::size_t>(first)] != kIgnoreTarget ? 1 : 0;
    }
  }
  return counts;
}

void bind_gradients(const FlatParameters& parameters, GradientBuffer& buffer) {
  for (std::size_t i = 0; i < parameters.tensors().size(); ++i) {
    parameters.tensors()[i].mutable_grad() = buffer.tensors[i];
  }
}

// The lesson's loop: local losses accumulate in .grad without any exchange, then one mean over ranks.
std::vector<float> lesson_form(const Model& model, const WindowBatches& batches, double global_count,
                               const CallLabel& label, Communicator& comm, FlatParameters& parameters) {
  GradientBuffer buffer(parameters.layout());
  bind_gradients(parameters, buffer);
  const double factor = loss_sum_factor(GradientReduction::kMean, comm.size(), global_count);
  for (const PackedBatch& batch : batches.atoms) {
    if (batch.supervised_tokens() > 0) (model.loss_sum(batch, std::nullopt) * factor).backward();
  }
  mean_over_ranks(comm, buffer.values.span(), label);
  return {buffer.values.span().begin(), buffer.values.span().end()};
}

// Gradients of the atoms' loss sums, all in this process: the controls weigh them wrongly.
std::vector<std::vector<float>> atom_gradients(const Model& model, const WindowBatches& batches,
                                               FlatParameters& parameters) {
  std::vector<std::vector<float>> gradients;
  for (const PackedBatch& batch : batches.atoms) {
    GradientBuffer buffer(parameters.layout());
    bind_gradients(parameters, buffer);
    if (batch.supervised_tokens() > 0) model.loss_sum(batch, std::nullopt).backward();
    gradients.emplace_back(buffer.values.span().begin(), buffer.values.span().end());
  }
  return gradients;
}

std::vector<WindowCheck::Wrong> wrong_gradients(const Model& model, const WindowBatches& batches,
                                                const RunConfig& config, FlatParameters& parameters) {
  constexpr double kShownRelative = 1e-3;  // well above the comparison's rtol of 1e-4
  std::vector<AtomCounts> counts;
  for (const PackedBatch& batch : batches.atoms) counts.push_back(atom_counts(batch, config));
  const std::vector<std::vector<float>> gradients = atom_gradients(model, batches, parameters);
  std::vector<WindowCheck::Wrong> wrong;
  for (const Control control : kAllControls) {
    if (!control_shows(control, counts, config.plan.accumulation, kShownRelative)) continue;
    const std::vector<double> factors = control_factors(control, counts, config.plan.accumulation);
    std::vector<double> sum(gradients.front().size(), 0.0);
    for (std::size_t atom = 0; atom < gradients.size(); ++atom) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factors[atom] * static_cast<double>(gradients[atom][i]);
    }
    wrong.push_back({control, {sum.begin(), sum.end()}});
  }
  return wrong;
}

}  // namespace

WindowCheck check_window(const RunConfig& config, const SampleSource& train, const PlanWindow& window,
                         const std::string& digest, Communicator& comm, TrainState& state) {
  const std::chrono::milliseconds timeout = std::chrono::seconds(config.run.timeout_s);
  const std::unique_ptr<Model> model = make_model(config.model, state.parameters.tensors());
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  GradientBufferPool pool(state.parameters.layout());
  const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  const WindowBatches batches = window_batches(window, range, train);
  WindowCheck check;
  {
    Window exact(state.parameters, pool, comm,
                 {.update = window.update,
                  .atoms_in_window = atoms,
                  .supervised_units = batches.supervised_units,
                  .digest = digest,
                  .failure = {},
                  .timeout = timeout});
    if (exact.decision().action != WindowAction::kTrain) {
      throw_failure_line(exact.decision().message, exact.decision().exit_code);
    }
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      const PackedBatch& batch = batches.atoms[static_cast<std::size_t>(atom - range.begin)];
      exact.backward(atom, batch.supervised_tokens(), [&] { return model->loss_sum(batch, std::nullopt); });
    }
    check.loss = exact.reduce();
    check.exact.assign(exact.gradient().begin(), exact.gradient().end());
  }
  check.lesson_form = lesson_form(*model, batches, static_cast<double>(check.loss.count),
                                  {"lesson's mean reduction", window.update, timeout}, comm, state.parameters);
  check.wrong = wrong_gradients(*model, window_batches(window, {0, atoms}, train), config, state.parameters);
  for (const at::Tensor& tensor : state.parameters.tensors()) tensor.mutable_grad().reset();
  return check;
}

EmptyWindowCheck check_empty_window(const RunConfig& config, const std::string& digest, Communicator& comm,
                                    TrainState& state) {
  const std::chrono::milliseconds timeout = std::chrono::seconds(config.run.timeout_s);
  const std::string before = elements_hash(state.parameters.layout(), state.parameters.values());
  GradientBufferPool pool(state.parameters.layout());
  WindowDecision decision;
  {
    const Window window(state.parameters, pool, comm,
                        {.update = 1,
                         .atoms_in_window = config.plan.atoms_per_window(),
                         .supervised_units = 0,
                         .digest = digest,
                         .empty_window = EmptyWindowPolicy::kError,
                         .failure = {},
                         .timeout = timeout});
    decision = window.decision();
  }
  struct Answer {
    std::array<char, 400> line{};
    bool refused = false;
    bool untouched = false;
  };
  Answer mine{.refused = decision.action == WindowAction::kRefuse && decision.refused_for_zero_units,
              .untouched = before == elements_hash(state.parameters.layout(), state.parameters.values())};
  std::copy_n(decision.message.begin(), std::min(decision.message.size(), mine.line.size() - 1), mine.line.begin());
  std::vector<Answer> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                  {"refusal check", 1, timeout});
  return {std::ranges::count_if(all, [&](const Answer& a) { return a.refused && a.line == all.front().line; }),
          std::ranges::all_of(all, [](const Answer& a) { return a.untouched; }), decision.message};
}

}  // namespace samegrad
