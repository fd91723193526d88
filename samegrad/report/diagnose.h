// Two sets of tensors of any origin, and the mistake that makes the one out of the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/report/text_style.h"

namespace samegrad {

/// What is known of the two runs; 0 or empty: not known. Below, N_r are the supervised tokens of rank r, N their sum.
struct RunNumbers {
  std::int64_t world_size = 0;
  std::int64_t accumulation = 0;
  std::int64_t samples = 0;                 ///< of the window, over all ranks
  std::vector<std::int64_t> rank_tokens{};  ///< N_r
};

/// What A is, B being the right one. Controls of objective/controls.h have their names here.
enum class Pattern {
  kIdentical,
  kRounding,                     ///< B, summed in another order
  kExtraWorldSize,               ///< W x B
  kMissingWorldSize,             ///< B / W
  kMissingAccumulationDivision,  ///< accumulation x B
  kExtraAccumulationDivision,    ///< B / accumulation
  kCountBeforeShift,             ///< N / (N + samples) x B
  kRankShare,                    ///< N_r / N x B
  kLocalCount,                   ///< N / N_r x B
  kMeanOfMeans,                  ///< each rank's mean, averaged
  kSumOfMeans,                   ///< each rank's mean, added
  kOneRankOnly,                  ///< a multiple of one rank's gradient
  kSmallIntegerRatio,            ///< k x B or B / k, k = 2..64, of which no number given says why
  kConstantRatio,                ///< any other multiple of B
  kRankWeights,                  ///< another combination of the ranks' gradients
};

/// "missing-world-size" and so on: the name in the JSON. Local.
std::string_view pattern_name(Pattern pattern);

enum class Confidence { kLow, kMedium, kHigh };

std::string_view confidence_name(Confidence confidence);

struct Finding {
  Pattern pattern = Pattern::kIdentical;
  Confidence confidence = Confidence::kLow;
  double unexplained = 0.0;  ///< what is left of the difference, as a fraction of it
  std::string meaning{};     ///< a sentence
};

/// A tensor and how far A is from B in it.
struct TensorDifference {
  std::string name{};
  double relative = 0.0;  ///< |A - B| / |B|, Euclidean lengths, b's own; infinite where B is zero
};

struct Diagnosis {
  std::vector<Finding> findings{};  ///< the likeliest first, others that fit as well after it; empty: no known pattern
  std::vector<std::string> problems{};  ///< missing, extra, mis-shaped or mistyped tensors, and non-finite numbers
  std::vector<std::string> notes{};     ///< what could not be tested, and why
  std::int64_t elements = 0;            ///< compared
  std::int64_t different = 0;           ///< of them, in their bits
  double relative_difference = 0.0;     ///< |A - B| / |B|, each tensor at its own scale
  std::optional<double> ratio{};        ///< the multiple of B that is closest to A
  double ratio_unexplained = 0.0;       ///< what is left of the difference beside that multiple
  std::vector<double> weights_a{};      ///< of the ranks' gradients in A and in B, by least squares; empty: not known
  std::vector<double> weights_b{};
  std::vector<TensorDifference> worst{};  ///< up to three that differ most

  /// Same tensors, and identical or another order of summation only.
  bool same() const;
};

/// Compares A, the suspect, with B, the reference. `rank_gradients` (may be empty): by rank, the gradient of that
/// rank's own mean loss at the same parameters, with all of B's tensors.
///
/// How it decides: each pattern predicts A without a free number. It fits where |A - predicted| is at most 1 % (high
/// confidence), 3 % (medium) or 10 % (low) of the smaller of |A - B| and |A|, and where no multiple of B does much
/// better. Patterns with free numbers (the last three) need 3 %, and are named only where no other fits. Nothing is
/// named where B is carried by fewer than four components.
///
/// The wrappers' prefixes `module.` and `_orig_mod.` before all names of a set are ignored. Throws InputError for rank
/// gradients that lack a tensor. Local.
Diagnosis diagnose_tensors(std::span<const TensorView> a, std::span<const TensorView> b,
                           std::span<const std::vector<TensorView>> rank_gradients, const RunNumbers& numbers);

/// docs/diagnose.md describes it. Local.
Json diagnosis_to_json(const Diagnosis& diagnosis);

/// The same for a person. Local.
std::string diagnosis_text(const Diagnosis& diagnosis, const TextStyle& style);

}  // namespace samegrad
