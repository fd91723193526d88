#include "samegrad/train/objective_terms.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

namespace samegrad {

void request_units(WindowRequest& request, const ObjectiveConfig& objective, const WindowBatches& batches) {
  if (!has_terms(objective)) {
    request.count = batches.supervised_units;
    request.atom_weights = batches.atom_weights;
    return;
  }
  const bool skip = request.empty_window == EmptyWindowPolicy::kSkip;
  LossTerm units{.name = "loss", .empty = skip ? EmptyTermPolicy::kSkipWindow : EmptyTermPolicy::kError};
  if (batches.atom_weights) {
    units.weights = batches.atom_weights;
  } else {
    units.count = batches.supervised_units;
  }
  request.terms.push_back(units);
  if (objective.z_loss > 0.0) {
    request.terms.push_back({.name = "z_loss", .count = batches.supervised_tokens, .empty = EmptyTermPolicy::kDrop});
  }
  if (objective.l2 > 0.0) request.terms.push_back({.name = "l2", .kind = TermKind::kRegularizer});
}

std::vector<at::Tensor> atom_sums(const Model& model, std::span<const at::Tensor> parameters,
                                  const ObjectiveConfig& objective, const PackedBatch& batch,
                                  const std::optional<DropoutKey>& dropout, std::int64_t atom) {
  const bool has_work = batch.supervised_tokens() > 0;
  if (!has_terms(objective)) return {model.loss_sum(batch, dropout)};
  std::vector<at::Tensor> sums(1);
  if (objective.z_loss > 0.0) {
    sums.emplace_back();
    if (has_work) {
      const Model::LossAndZ both = model.loss_and_z_sums(batch, dropout);
      sums = {both.loss, both.z * objective.z_loss};
    }
  } else if (has_work) {
    sums = {model.loss_sum(batch, dropout)};
  }
  if (objective.l2 > 0.0) sums.push_back(atom == 0 ? half_square_sum(parameters, objective.l2) : at::Tensor());
  return sums;
}

at::Tensor with_factors(const std::vector<at::Tensor>& sums, const ObjectiveConfig& objective,
                        const TermFactors& factors) {
  std::vector<double> by_term{factors.units};
  if (objective.z_loss > 0.0) by_term.push_back(factors.z_loss);
  if (objective.l2 > 0.0) by_term.push_back(factors.l2);
  at::Tensor total;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (!sums[i].defined() || by_term[i] == 0.0) continue;
    const at::Tensor part = by_term[i] == 1.0 ? sums[i] : sums[i] * by_term[i];  // a lone sum keeps its bits
    total = total.defined() ? total + part : part;
  }
  return total;
}

void run_atom(Window& window, const ObjectiveConfig& objective, const AtomUnits& units,
              const std::function<std::vector<at::Tensor>()>& sums) {
  const auto only_sum = [&] { return sums().front(); };
  if (has_terms(objective)) {
    window.backward(sums);
  } else if (units.units == 0 && units.supervised_tokens > 0) {
    window.backward(only_sum);
  } else {
    window.backward(units.units, only_sum);
  }
}

LossSum units_loss(const Window& window) {
  return window.term_losses().empty() ? window.loss() : window.term_losses().front().loss;
}

at::Tensor half_square_sum(std::span<const at::Tensor> parameters, double coefficient) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const at::Tensor& parameter : parameters) {
    const at::Tensor values = parameter.to(at::kDouble);
    sum = sum + at::sum(values * values);
  }
  return sum * (0.5 * coefficient);
}

}  // namespace samegrad
