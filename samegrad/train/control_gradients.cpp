#include "samegrad/train/control_gradients.h"

#include <algorithm>
#include <optional>

#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/model/model.h"
#include "samegrad/objective/scale.h"
#include "samegrad/train/atom_gradient.h"
#include "samegrad/train/objective_terms.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {
namespace {

constexpr double kShownRelative = 1e-3;  // well above the comparison's rtol of 1e-4

// A label on a sample's first token is what a count before the shift would have counted too. Where targets are not
// shifted (the lesson), nothing precedes the first input and the two counts agree.
// So they do where sequences or documents are counted. An atom's part of a document is its share of its tokens.
AtomCounts atom_counts(const PackedBatch& batch, const AtomUnits& units, const RunConfig& config) {
  AtomCounts counts{.units = units.weight, .units_before_shift = units.weight};
  if (config.data.task == "text" && config.objective.unit == "token") {
    for (std::int64_t sample = 0; sample < batch.samples(); ++sample) {
      const auto first = static_cast<std::size_t>(batch.offsets[static_cast<std::size_t>(sample)]);
      if (batch.targets[first] == kIgnoreTarget) continue;
      counts.units_before_shift += batch.weights.empty() ? 1.0 : batch.weights[first];
    }
  }
  return counts;
}

// A control's sum over the atoms so far.
struct WeighedSum {
  std::vector<double> factors;
  std::vector<double> sum;
};

void add(WeighedSum& control, double factor, std::span<const float> gradient) {
  for (std::size_t i = 0; i < control.sum.size(); ++i) {
    control.sum[i] += factor * static_cast<double>(gradient[i]);
  }
}

}  // namespace

std::vector<ControlGradient> control_gradients(const RunConfig& config, const SampleSource& train,
                                               const PlanWindow& window, const FlatParameters& parameters) {
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  const Objective objective = training_objective(config, train);
  const WindowBatches batches = window_batches(window, {0, atoms}, train, objective);
  std::vector<AtomCounts> counts;
  for (std::size_t atom = 0; atom < batches.atoms.size(); ++atom) {
    counts.push_back(atom_counts(batches.atoms[atom], batches.units[atom], config));
  }
  std::optional<double> constant;
  if (objective.unit == Unit::kConstant) constant = static_cast<double>(objective.constant);
  std::vector<ControlGradient> controls;
  std::vector<WeighedSum> sums;
  for (const Control control : kAllControls) {
    controls.push_back(
        {control, why_it_cannot_show(control, counts, config.plan.accumulation, kShownRelative, constant), {}});
    if (!controls.back().cannot_show.empty()) continue;
    sums.push_back({control_factors(control, counts, config.plan.accumulation, constant),
                    std::vector<double>(static_cast<std::size_t>(parameters.layout().flat_elements()), 0.0)});
  }

  const std::unique_ptr<Model> model = make_model(config.model, parameters.tensors());
  GradientBuffer gradient(parameters.set());
  // The mistakes are in what the units' sum is divided by; other terms are right in all of them.
  const auto gradient_of = [&](std::size_t atom, const TermFactors& factors) {
    atom_gradient(
        parameters,
        [&] {
          return with_factors(atom_sums(*model, parameters.tensors(), config.objective, batches.atoms[atom],
                                        std::nullopt, static_cast<std::int64_t>(atom)),
                              config.objective, factors);
        },
        gradient);
  };
  const double z_factor = loss_sum_factor(GradientReduction::kSum, 1,
                                          static_cast<double>(std::max<std::int64_t>(1, batches.window_tokens)));
  for (std::size_t atom = 0; atom < batches.atoms.size() && !sums.empty(); ++atom) {
    gradient_of(atom, {.units = 1.0});
    for (WeighedSum& control : sums) add(control, control.factors[atom], gradient.values());
    if (!has_terms(config.objective)) continue;
    gradient_of(atom, {.z_loss = z_factor, .l2 = 1.0});
    for (WeighedSum& control : sums) add(control, 1.0, gradient.values());
  }

  auto sum = sums.begin();
  for (ControlGradient& control : controls) {
    if (!control.cannot_show.empty()) continue;
    control.gradient.assign(sum->sum.begin(), sum->sum.end());
    ++sum;
  }
  return controls;
}

}  // namespace samegrad
