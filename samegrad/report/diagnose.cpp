#include "samegrad/report/diagnose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "samegrad/base/error.h"
#include "samegrad/report/compare.h"
#include "samegrad/report/diagnose_patterns.h"
#include "samegrad/report/tensor_component.h"
#include "samegrad/report/tensor_products.h"

namespace samegrad {
namespace {

// Names as the model itself has them.
std::vector<TensorView> unwrapped(std::span<const TensorView> tensors) {
  std::vector<TensorView> result(tensors.begin(), tensors.end());
  constexpr std::array<std::string_view, 2> kWrappers{"module.", "_orig_mod."};
  for (bool found = !result.empty(); found;) {
    found = false;
    for (const std::string_view prefix : kWrappers) {
      if (!std::ranges::all_of(result, [&](const TensorView& tensor) { return tensor.name.starts_with(prefix); }))
        continue;
      for (TensorView& tensor : result) tensor.name.erase(0, prefix.size());
      found = true;
    }
  }
  return result;
}

std::map<std::string_view, const TensorView*> by_name(std::span<const TensorView> tensors) {
  std::map<std::string_view, const TensorView*> result;
  for (const TensorView& tensor : tensors) result.emplace(tensor.name, &tensor);
  return result;
}

struct Pairs {
  std::vector<const TensorView*> a{};
  std::vector<const TensorView*> b{};
  std::vector<TensorProducts> products{};
};

void check_numbers(const RunNumbers& numbers, std::size_t rank_gradients) {
  const auto refuse = [](const char* what, std::size_t given, const char* against, std::size_t other) {
    throw InputError("diagnose", std::string(what) + ": " + std::to_string(given) + " given, but " + against + " is " +
                                     std::to_string(other) + "; one for each rank is needed");
  };
  const std::size_t tokens = numbers.rank_tokens.size();
  const auto world = static_cast<std::size_t>(numbers.world_size);
  if (world > 0 && tokens > 0 && tokens != world) refuse("rank tokens", tokens, "the world size", world);
  if (world > 0 && rank_gradients > 0 && rank_gradients != world) {
    refuse("rank gradients", rank_gradients, "the world size", world);
  }
  if (tokens > 0 && rank_gradients > 0 && tokens != rank_gradients) {
    refuse("rank gradients", rank_gradients, "the number of rank tokens", tokens);
  }
}

Pairs multiply_pairs(const Comparison& comparison, std::span<const TensorView> a, std::span<const TensorView> b,
                     std::span<const std::vector<TensorView>> rank_gradients) {
  const auto a_by_name = by_name(a);
  const auto b_by_name = by_name(b);
  std::vector<std::map<std::string_view, const TensorView*>> ranks;
  for (const auto& tensors : rank_gradients) ranks.push_back(by_name(tensors));
  Pairs pairs;
  for (const ParameterComparison& parameter : comparison.parameters) {
    pairs.a.push_back(a_by_name.at(parameter.name));
    pairs.b.push_back(b_by_name.at(parameter.name));
    std::vector<const TensorView*> others;
    others.reserve(ranks.size());
    for (const auto& rank : ranks) others.push_back(rank.at(parameter.name));
    pairs.products.push_back(multiply_tensors(*pairs.a.back(), *pairs.b.back(), others));
  }
  return pairs;
}

// Each must have B's tensors, all finite.
void check_rank_gradients(std::span<const std::vector<TensorView>> rank_gradients, std::span<const TensorView> b) {
  for (std::size_t r = 0; r < rank_gradients.size(); ++r) {
    const Comparison comparison = compare_tensors(rank_gradients[r], b);
    std::string problem = comparison.problems.empty() ? "" : comparison.problems.front();
    if (problem.empty() && std::isnan(comparison.worst.error)) problem = comparison.worst.parameter + ": not finite";
    if (!problem.empty()) {
      throw InputError("diagnose", "gradient of rank " + std::to_string(r) + ": " + problem +
                                       "; each rank's needs the reference's tensors");
    }
  }
}

// Half of the last place of what the numbers were computed in.
double unit_roundoff(std::span<const TensorProducts> products) {
  const bool a_single = std::ranges::all_of(products, &TensorProducts::a_is_float32);
  const bool b_single = std::ranges::all_of(products, &TensorProducts::b_is_float32);
  return std::ldexp(1.0, a_single || b_single ? -24 : -53);
}

// Largest |a - b| beside |b| and the size of its tensor: what a sum's rounding is relative to.
double largest_error(const Pairs& pairs, const WeightedProducts& weighted) {
  double largest = 0.0;
  for (std::size_t t = 0; t < pairs.b.size(); ++t) {
    const std::size_t elements = pairs.b[t]->bytes.size() / component_width(pairs.b[t]->type);
    for (std::size_t i = 0; i < elements; ++i) {
      const double reference = tensor_component(*pairs.b[t], i);
      const double error = std::abs(tensor_component(*pairs.a[t], i) - reference);
      largest = std::max(largest, error / (std::abs(reference) + weighted.scale(t)));
    }
  }
  return largest;
}

// Another order of summation: small against each component, and no pull in one direction.
std::optional<Finding> rounding(const Pairs& pairs, const Evidence& evidence) {
  constexpr double kHighRoundoffs = 32;
  constexpr double kMediumRoundoffs = 256;
  constexpr double kMostRoundoffs = 4096;  // of a single component
  constexpr double kRatioRoundoffs = 8;
  constexpr double kMostCorrelation = 0.5;
  const WeightedProducts& products = evidence.products();
  const double unit = unit_roundoff(pairs.products);
  const double typical = evidence.difference() / std::sqrt(products.elements());
  if (!(typical <= kMediumRoundoffs * unit)) return std::nullopt;
  const double correlation =
      std::abs(products.product(0, 1)) / evidence.difference() / std::sqrt(products.product(1, 1));
  if (std::abs(evidence.ratio() - 1) > kRatioRoundoffs * unit && correlation > kMostCorrelation) return std::nullopt;
  if (largest_error(pairs, products) > kMostRoundoffs * unit) return std::nullopt;
  return Finding{Pattern::kRounding, typical <= kHighRoundoffs * unit ? Confidence::kHigh : Confidence::kMedium, 0.0,
                 "A is B but for rounding, as another order of summation gives"};
}

std::vector<TensorDifference> worst_tensors(std::span<const TensorProducts> products) {
  constexpr std::ptrdiff_t kShown = 3;
  std::vector<TensorDifference> all;
  for (const TensorProducts& tensor : products) {
    const double square = tensor.products.front();
    if (!(square > 0)) continue;
    all.push_back({tensor.name, std::sqrt(square / static_cast<double>(tensor.elements)) / tensor.root_mean_square});
  }
  const auto shown = std::min(kShown, std::ssize(all));
  std::partial_sort(all.begin(), all.begin() + shown, all.end(),
                    [](const TensorDifference& x, const TensorDifference& y) { return x.relative > y.relative; });
  all.resize(static_cast<std::size_t>(shown));
  return all;
}

// Those that leave about as little as the best one.
void keep_the_best(std::vector<Finding>& findings) {
  if (findings.empty()) return;
  const double best = std::ranges::min(findings, {}, &Finding::unexplained).unexplained;
  constexpr double kSlack = 1e-3;
  std::erase_if(findings, [&](const Finding& finding) { return finding.unexplained > 2 * best + kSlack; });
}

void note_rank_weights(Diagnosis& diagnosis, const RankWeights& weights) {
  constexpr double kExplained = 0.01;
  if (weights.b.empty()) {
    diagnosis.notes.emplace_back("The ranks' gradients depend on one another: their weights cannot be told");
  } else if (weights.unexplained_b > kExplained) {
    diagnosis.notes.emplace_back(
        "B is no combination of the ranks' gradients: they are not of the same window and parameters as B, or not all "
        "ranks are given");
  } else {
    diagnosis.weights_a = weights.a;
    diagnosis.weights_b = weights.b;
  }
}

void find_patterns(Diagnosis& diagnosis, const Pairs& pairs, const RunNumbers& numbers) {
  const WeightedProducts weighted(pairs.products);
  const Evidence evidence(weighted);
  diagnosis.relative_difference = evidence.difference() / weighted.length(std::array{0.0, 1.0});
  diagnosis.worst = worst_tensors(pairs.products);
  if (!(weighted.product(1, 1) > 0)) {
    diagnosis.notes.emplace_back("B is zero in every component that both have");
    return;
  }
  diagnosis.ratio = evidence.ratio();
  diagnosis.ratio_unexplained = evidence.unexplained_by_multiple(evidence.ratio());
  if (const auto found = rounding(pairs, evidence)) {
    diagnosis.findings.push_back(*found);
    return;
  }
  constexpr double kLeastElements = 4;
  if (weighted.effective_elements() < kLeastElements) {
    diagnosis.notes.emplace_back("Too few components carry B: any pattern would be chance");
    return;
  }
  RankWeights weights;
  if (weighted.others() > 0) {
    weights = fit_rank_weights(evidence, numbers);
    note_rank_weights(diagnosis, weights);
  }
  diagnosis.findings = ratio_findings(evidence, numbers);
  std::ranges::move(rank_findings(evidence, weights), std::back_inserter(diagnosis.findings));
  keep_the_best(diagnosis.findings);
  if (diagnosis.findings.empty()) diagnosis.findings = fitted_findings(evidence, weights);
  if (diagnosis.findings.empty() && weighted.others() == 0) {
    diagnosis.notes.emplace_back(
        "A mean of means and one rank's gradient alone can only be told with the gradient of each rank "
        "(--rank-gradients)");
  }
}

}  // namespace

bool Diagnosis::same() const {
  return problems.empty() && !findings.empty() &&
         (findings.front().pattern == Pattern::kIdentical || findings.front().pattern == Pattern::kRounding);
}

Diagnosis diagnose_tensors(std::span<const TensorView> a, std::span<const TensorView> b,
                           std::span<const std::vector<TensorView>> rank_gradients, const RunNumbers& numbers) {
  check_numbers(numbers, rank_gradients.size());
  RunNumbers known = numbers;
  if (known.world_size == 0) {
    known.world_size = static_cast<std::int64_t>(std::max(numbers.rank_tokens.size(), rank_gradients.size()));
  }
  const std::vector<TensorView> own_a = unwrapped(a);
  const std::vector<TensorView> own_b = unwrapped(b);
  std::vector<std::vector<TensorView>> ranks;
  for (const auto& tensors : rank_gradients) ranks.push_back(unwrapped(tensors));
  check_rank_gradients(ranks, own_b);

  const Comparison comparison = compare_tensors(own_a, own_b);
  Diagnosis diagnosis;
  diagnosis.problems = comparison.problems;
  diagnosis.elements = comparison.elements;
  diagnosis.different = comparison.different;
  if (comparison.elements == 0) {
    diagnosis.notes.emplace_back("There is nothing to compare");
  } else if (comparison.different == 0) {
    diagnosis.findings.push_back({Pattern::kIdentical, Confidence::kHigh, 0.0, "A is B, bit for bit"});
  } else if (std::isnan(comparison.worst.error)) {
    const ComponentError& worst = comparison.worst;
    diagnosis.problems.push_back(worst.parameter + "[" + std::to_string(worst.index) + "]: not finite in " +
                                 (std::isfinite(worst.reference) ? "A" : "B"));
  } else {
    find_patterns(diagnosis, multiply_pairs(comparison, own_a, own_b, ranks), known);
  }
  return diagnosis;
}

}  // namespace samegrad
