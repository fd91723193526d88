// The configured loss as a window takes it: one sum, or several terms with a denominator each.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/ddp/window.h"
#include "samegrad/model/model.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {

/// What the atoms of this rank bring to the window: units or weights, or terms ("loss", then "z_loss" and "l2" where
/// they are configured). Local.
void request_units(WindowRequest& request, const ObjectiveConfig& objective, const WindowBatches& batches);

/// An atom's sums, in the order of the terms, each with its coefficient; undefined where it has none. `atom`: of the
/// window; the regulariser is atom 0's. Local.
std::vector<at::Tensor> atom_sums(const Model& model, std::span<const at::Tensor> parameters,
                                  const ObjectiveConfig& objective, const PackedBatch& batch,
                                  const std::optional<DropoutKey>& dropout, std::int64_t atom);

/// By what each term of an atom's sums is multiplied; 0: it is left out.
struct TermFactors {
  double units = 0.0;
  double z_loss = 0.0;
  double l2 = 0.0;
};

/// The sum of atom_sums() times their factors; undefined where there is nothing. Local.
at::Tensor with_factors(const std::vector<at::Tensor>& sums, const ObjectiveConfig& objective,
                        const TermFactors& factors);

/// The next of the window's atoms, by what `sums` gives: atom_sums(). An atom may have work and no unit of its own,
/// where a document began in another. Local.
void run_atom(Window& window, const ObjectiveConfig& objective, const AtomUnits& units,
              const std::function<std::vector<at::Tensor>()>& sums);

/// S and N of the units, after reduce(): the first term's, or the window's. Local.
LossSum units_loss(const Window& window);

/// half the sum of squares of all parameters times `coefficient`: a float64 scalar. Local.
at::Tensor half_square_sum(std::span<const at::Tensor> parameters, double coefficient);

}  // namespace samegrad
