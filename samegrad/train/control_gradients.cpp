#include "samegrad/train/control_gradients.h"

#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/model/model.h"
#include "samegrad/train/atom_gradient.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {
namespace {

constexpr double kShownRelative = 1e-3;  // well above the comparison's rtol of 1e-4

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

// A control's sum over the atoms so far.
struct WeighedSum {
  std::vector<double> factors;
  std::vector<double> sum;
};

void add(WeighedSum& control, std::size_t atom, std::span<const float> gradient) {
  const double factor = control.factors[atom];
  for (std::size_t i = 0; i < control.sum.size(); ++i) {
    control.sum[i] += factor * static_cast<double>(gradient[i]);
  }
}

}  // namespace

std::vector<ControlGradient> control_gradients(const RunConfig& config, const SampleSource& train,
                                               const PlanWindow& window, const FlatParameters& parameters) {
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  const WindowBatches batches = window_batches(window, {0, atoms}, train);
  std::vector<AtomCounts> counts;
  for (const PackedBatch& batch : batches.atoms) counts.push_back(atom_counts(batch, config));
  std::vector<ControlGradient> controls;
  std::vector<WeighedSum> sums;
  for (const Control control : kAllControls) {
    controls.push_back({control, why_it_cannot_show(control, counts, config.plan.accumulation, kShownRelative), {}});
    if (!controls.back().cannot_show.empty()) continue;
    sums.push_back({control_factors(control, counts, config.plan.accumulation),
                    std::vector<double>(static_cast<std::size_t>(parameters.layout().flat_elements()), 0.0)});
  }

  const std::unique_ptr<Model> model = make_model(config.model, parameters.tensors());
  GradientBuffer gradient(parameters.set());
  for (std::size_t atom = 0; atom < batches.atoms.size() && !sums.empty(); ++atom) {
    atom_gradient(*model, parameters, batches.atoms[atom], std::nullopt, gradient);
    for (WeighedSum& control : sums) add(control, atom, gradient.values());
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
