// Controls: the well-known wrong normalisations, exactly as the programs that had them computed them. A check of the
// gradient is worth something only if it rejects each of these.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samegrad {

/// The right gradient is sum over atoms of g_a / N, g_a being the gradient of the atom's loss *sum* and N the
/// supervised units of all atoms. Below, R is the number of ranks, N_r and N_a are the units of a rank's window and of
/// an atom. Each control multiplies g_a by another factor.
enum class Control {
  /// 1 / (R * accumulation * N_a): every microbatch takes its own mean, microbatches and ranks are averaged: what
  /// `loss.mean() / accumulation` under a mean-reducing DDP does (huggingface/transformers#24725).
  kMeanOfMeans,
  /// 1 / (accumulation * N): the right loss divided once more by the accumulation, as for per-microbatch means
  /// (huggingface/transformers#35204, Lightning-AI/pytorch-lightning#19987: a division by the configured accumulation
  /// that the sums do not need).
  kExtraAccumulationDivision,
  /// 1 / (R * N): the loss S_r / N without the world size, so that DDP's mean over ranks divides a second time.
  kMissingWorldSize,
  /// 1 / (R * N_r): units are counted over the rank's whole window, but on this rank only
  /// (huggingface/transformers#34242): a mean of the ranks' means.
  kLocalCount,
  /// 1 / N', N' being the units counted before labels are shifted by one: a label on a sample's first token is counted
  /// though nothing predicts it (huggingface/transformers#46204).
  kCountBeforeShift,
};

inline constexpr std::array<Control, 5> kAllControls{Control::kMeanOfMeans, Control::kExtraAccumulationDivision,
                                                     Control::kMissingWorldSize, Control::kLocalCount,
                                                     Control::kCountBeforeShift};

/// "mean-of-means", "extra-accumulation-division", "missing-world-size", "local-count", "count-before-shift".
std::string_view control_name(Control control);

/// The counts of one atom: numbers of units, or their weight.
struct AtomCounts {
  double units = 0.0;               ///< supervised units
  double units_before_shift = 0.0;  ///< what counting labels before the shift gives: units + one for each sample
                                    ///< whose first token has a label
};

/// The control's factor for each atom: its gradient is sum over a of factors[a] * g_a. Atoms are in canonical order,
/// `accumulation` of them a rank (the lesson's own split: as many processes as virtual ranks). An atom whose own count
/// the control would divide by and that is 0 gets factor 0: its g_a is +0. Where `constant` is given, the right N is it
/// and not the sum of the counts. Requires at least one supervised unit, and atoms to be a multiple of accumulation.
/// Local.
///
/// Some controls are the right gradient on some windows (kExtraAccumulationDivision with accumulation 1,
/// kMissingWorldSize with one rank, the means with equal counts): a check can reject a control only where
/// control_shows() holds.
std::vector<double> control_factors(Control control, std::span<const AtomCounts> atoms, std::int64_t accumulation,
                                    std::optional<double> constant = std::nullopt);

/// Whether any factor of an atom with units differs from the right one, 1 / N, by more than `relative` of it. Local.
bool control_shows(Control control, std::span<const AtomCounts> atoms, std::int64_t accumulation, double relative,
                   std::optional<double> constant = std::nullopt);

/// "" where control_shows(); else for a person why this window cannot tell the control from the right gradient. Local.
std::string why_it_cannot_show(Control control, std::span<const AtomCounts> atoms, std::int64_t accumulation,
                               double relative, std::optional<double> constant = std::nullopt);

}  // namespace samegrad
