#include "apps/samegrad/replayed_window.h"

#include <algorithm>
#include <string>

#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/data/packed_batch.h"
#include "samegrad/report/number_text.h"
#include "samegrad/train/atom_gradient.h"
#include "samegrad/train/objective_terms.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {
namespace {

/// One atom of one run.
struct AtomOfRun {
  std::vector<Sample> samples;
  PackedBatch batch;
};

AtomOfRun read_atom(const ReplayedRun& run, const PlanWindow& window, std::int64_t atom) {
  AtomOfRun result;
  for (const std::int64_t id : window.atoms[static_cast<std::size_t>(atom)]) {
    result.samples.push_back(run.opened().data.train->sample(id));
  }
  result.batch = window_batches(window, {atom, atom + 1}, *run.opened().data.train,
                                training_objective(run.config(), *run.opened().data.train))
                     .atoms.front();
  return result;
}

void compute(const ReplayedRun& run, const PackedBatch& batch, std::int64_t update, std::int64_t atom,
             GradientBuffer& gradient) {
  const FlatParameters& parameters = run.trainer().state().parameters;
  const ObjectiveConfig& objective = run.config().objective;
  const DropoutKey key{static_cast<std::uint64_t>(run.config().seed), update, atom};
  // Terms enter as they are, before any denominator: two runs are compared, not a window made.
  const TermFactors factors{.units = 1.0, .z_loss = 1.0, .l2 = 1.0};
  atom_gradient(
      parameters,
      [&] {
        if (batch.supervised_tokens() == 0 && !has_terms(objective)) return at::Tensor();
        return with_factors(atom_sums(run.trainer().model(), parameters.tensors(), objective, batch, key, atom),
                            objective, factors);
      },
      gradient);
}

const FlatLayout& layout_of(const ReplayedRun& run) { return run.trainer().state().parameters.layout(); }

void compare_states(const TrainState& a, const TrainState& b, WindowFindings& findings) {
  findings.compare_tensors(Part::kParameters, -1, parameter_views(a.parameters.layout(), a.parameters.values()),
                           parameter_views(b.parameters.layout(), b.parameters.values()));
  const Json scalars_a = a.optimizer->scalars();
  const Json scalars_b = b.optimizer->scalars();
  for (const auto& [name, value] : scalars_a.items()) {
    if (scalars_b.contains(name)) {
      findings.compare_values(Part::kOptimizerState, -1, name, value.dump(), scalars_b[name].dump());
    }
  }
  const std::vector<TensorView> views_a = optimizer_views(a);
  const std::vector<TensorView> views_b = optimizer_views(b);
  if (!views_a.empty() || !views_b.empty()) findings.compare_tensors(Part::kOptimizerState, -1, views_a, views_b);
}

}  // namespace

void compare_before_step(const ReplayedRun& a, const ReplayedRun& b, WindowFindings& findings) {
  const std::int64_t update = a.update() + 1;
  const PlanWindow window_a = a.opened().plan->window(update);
  const PlanWindow window_b = b.opened().plan->window(update);
  findings.compare_plans(window_a, window_b);
  compare_states(a.trainer().state(), b.trainer().state(), findings);
  GradientBuffer gradient_a(a.trainer().state().parameters.set());
  GradientBuffer gradient_b(b.trainer().state().parameters.set());
  const std::size_t shared = std::min(window_a.atoms.size(), window_b.atoms.size());
  for (std::int64_t atom = 0; atom < static_cast<std::int64_t>(shared); ++atom) {
    const AtomOfRun of_a = read_atom(a, window_a, atom);
    const AtomOfRun of_b = read_atom(b, window_b, atom);
    const auto index = static_cast<std::size_t>(atom);
    if (window_a.atoms[index] == window_b.atoms[index]) findings.compare_samples(atom, of_a.samples, of_b.samples);
    findings.compare_values(Part::kCount, atom, "supervised tokens", std::to_string(of_a.batch.supervised_tokens()),
                            std::to_string(of_b.batch.supervised_tokens()));
    compute(a, of_a.batch, update, atom, gradient_a);
    compute(b, of_b.batch, update, atom, gradient_b);
    findings.compare_tensors(Part::kGradient, atom, parameter_views(layout_of(a), gradient_a.values()),
                             parameter_views(layout_of(b), gradient_b.values()));
  }
}

SteppedWindow step_window(ReplayedRun& run) {
  SteppedWindow stepped;
  stepped.result =
      run.step([&](std::span<const float> gradient) { stepped.gradient.assign(gradient.begin(), gradient.end()); });
  return stepped;
}

void compare_after_step(const ReplayedRun& a, const SteppedWindow& of_a, const ReplayedRun& b,
                        const SteppedWindow& of_b, const std::vector<ValuePair>& config, WindowFindings& findings) {
  if (!findings.has(Part::kGradient) && !of_a.gradient.empty() && !of_b.gradient.empty()) {
    findings.compare_tensors(Part::kGradient, -1, parameter_views(layout_of(a), of_a.gradient),
                             parameter_views(layout_of(b), of_b.gradient));
  }
  findings.compare_values(Part::kLearningRate, -1, "learning rate", shortest(of_a.result.learning_rate),
                          shortest(of_b.result.learning_rate));
  findings.compare_values(Part::kClipping, -1, "clip factor", shortest(of_a.result.clip_factor),
                          shortest(of_b.result.clip_factor));
  for (const ValuePair& leaf : config) {
    if (leaf.name.starts_with("optimizer.")) {
      findings.compare_values(Part::kOptimizerOptions, -1, leaf.name, leaf.a, leaf.b);
    }
  }
  if (findings.empty()) {
    findings.compare_tensors(Part::kStep, -1, parameter_views(layout_of(a), a.trainer().state().parameters.values()),
                             parameter_views(layout_of(b), b.trainer().state().parameters.values()));
  }
}

}  // namespace samegrad
