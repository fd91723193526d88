#include "samegrad/report/diagnose_patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

constexpr double kMediumLeft = 0.03;

std::optional<Confidence> confidence_of(double unexplained) {
  constexpr double kHighLeft = 0.01;
  constexpr double kLowLeft = 0.1;
  if (unexplained <= kHighLeft) return Confidence::kHigh;
  if (unexplained <= kMediumLeft) return Confidence::kMedium;
  if (unexplained <= kLowLeft) return Confidence::kLow;
  return std::nullopt;  // a NaN too
}

double as_double(std::int64_t count) { return static_cast<double>(count); }

std::string ratio_text(double ratio) {
  const double size = std::abs(ratio);
  return size >= 1e-2 && size < 1e6 ? fixed(ratio, 6) : scientific(ratio, 6);
}

std::string weights_text(std::span<const double> weights) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t r = 0; r < std::min(weights.size(), kShown); ++r) {
    text += (r == 0 ? "" : ", ") + fixed(weights[r], 4);
  }
  return text + (weights.size() > kShown ? ", ..." : "");
}

void add_multiple(std::vector<Finding>& findings, const Evidence& evidence, Pattern pattern, double factor,
                  std::string meaning) {
  const double left = evidence.unexplained_by_multiple(factor);
  const double best = evidence.unexplained_by_multiple(evidence.ratio());
  // Where another multiple fits ten times better, the number is not this one.
  constexpr double kSlack = 0.002;
  if (left > 10 * best + kSlack) return;
  if (const auto confidence = confidence_of(left)) {
    findings.push_back({pattern, *confidence, left, std::move(meaning)});
  }
}

}  // namespace

Evidence::Evidence(const WeightedProducts& products)
    : products_(&products),
      difference_(products.length(std::array{1.0})),
      least_(std::min(difference_, products.length(std::array{1.0, 1.0}))),
      ratio_(1.0 + products.product(0, 1) / products.product(1, 1)) {}

double Evidence::unexplained(std::span<const double> remainder) const { return products_->length(remainder) / least_; }

double Evidence::unexplained_by_multiple(double factor) const { return unexplained(std::array{1.0, 1.0 - factor}); }

double Evidence::unexplained_by_ranks(std::span<const double> weights) const {
  std::vector<double> remainder{1.0, 1.0};
  for (const double weight : weights) remainder.push_back(-weight);
  return unexplained(remainder);
}

RankWeights fit_rank_weights(const Evidence& evidence, const RunNumbers& numbers) {
  const WeightedProducts& products = evidence.products();
  RankWeights weights;
  weights.to_mean.assign(products.others(), 1.0);
  weights.b = products.fit_others(std::array{0.0, 1.0});
  weights.a = products.fit_others(std::array{1.0, 1.0});
  if (weights.b.empty()) return weights;
  std::vector<double> remainder{0.0, 1.0};
  for (const double weight : weights.b) remainder.push_back(-weight);
  weights.unexplained_b = products.length(remainder) / products.length(std::array{0.0, 1.0});
  const std::int64_t all = std::accumulate(numbers.rank_tokens.begin(), numbers.rank_tokens.end(), std::int64_t{0});
  if (numbers.rank_tokens.empty() || all == 0 || weights.unexplained_b > kMediumLeft) return weights;
  // B is the sum over ranks of N_r / N x mean_r, and of weights.b[r] x file_r.
  for (std::size_t r = 0; r < weights.b.size(); ++r) {
    if (numbers.rank_tokens[r] > 0)
      weights.to_mean[r] = weights.b[r] * as_double(all) / as_double(numbers.rank_tokens[r]);
  }
  return weights;
}

std::vector<Finding> ratio_findings(const Evidence& evidence, const RunNumbers& numbers) {
  std::vector<Finding> findings;
  const auto add = [&](Pattern pattern, double factor, std::string meaning) {
    add_multiple(findings, evidence, pattern, factor, std::move(meaning));
  };
  if (numbers.world_size > 1) {
    const std::string count = std::to_string(numbers.world_size);
    add(Pattern::kMissingWorldSize, 1 / as_double(numbers.world_size),
        "A = B / W, W = " + count +
            ": divided by the world size once too often. A loss S_r / N under DDP's mean over ranks "
            "needs the factor W");
    add(Pattern::kExtraWorldSize, as_double(numbers.world_size),
        "A = W x B, W = " + count +
            ": the world size is in it once too often. The loss carries W, or means are meant, but "
            "the ranks' gradients are added");
  }
  if (numbers.accumulation > 1) {
    const std::string count = std::to_string(numbers.accumulation);
    add(Pattern::kExtraAccumulationDivision, 1 / as_double(numbers.accumulation),
        "A = B / accumulation, accumulation = " + count +
            ": divided by it once too often. A loss that is divided by the "
            "window's count needs no division by the number of microbatches");
    add(Pattern::kMissingAccumulationDivision, as_double(numbers.accumulation),
        "A = accumulation x B, accumulation = " + count +
            ": the microbatches' means are added where their mean was meant");
  }
  const std::int64_t all = std::accumulate(numbers.rank_tokens.begin(), numbers.rank_tokens.end(), std::int64_t{0});
  if (numbers.samples > 0 && all > 0) {
    add(Pattern::kCountBeforeShift, as_double(all) / as_double(all + numbers.samples),
        "A = N / (N + samples) x B, N = " + std::to_string(all) + ", samples = " + std::to_string(numbers.samples) +
            ": tokens are counted before the labels are shifted, one too many for each sample");
  }
  std::set<std::int64_t> done{0, all};
  for (const std::int64_t count : numbers.rank_tokens) {
    if (!done.insert(count).second) continue;
    const std::string counts = ", N_r = " + std::to_string(count) + ", N = " + std::to_string(all) + ": ";
    add(Pattern::kLocalCount, as_double(all) / as_double(count),
        "A = N / N_r x B" + counts + "the loss is divided by one rank's count of tokens instead of all ranks'");
    add(Pattern::kRankShare, as_double(count) / as_double(all),
        "A = N_r / N x B" + counts + "one rank's share of the tokens is in it as a factor");
  }
  return findings;
}

std::vector<Finding> rank_findings(const Evidence& evidence, const RankWeights& weights) {
  std::vector<Finding> findings;
  const std::size_t ranks = evidence.products().others();
  const auto add = [&](Pattern pattern, const std::vector<double>& combination, std::string meaning) {
    const double left = evidence.unexplained_by_ranks(combination);
    if (const auto confidence = confidence_of(left))
      findings.push_back({pattern, *confidence, left, std::move(meaning)});
  };
  if (ranks > 1) {
    std::vector<double> mean = weights.to_mean;
    for (double& weight : mean) weight /= static_cast<double>(ranks);
    add(Pattern::kMeanOfMeans, mean,
        "A is the mean of the ranks' means: each rank divides by its own count, and the ranks weigh 1 / W each instead "
        "of "
        "N_r / N");
    add(Pattern::kSumOfMeans, weights.to_mean,
        "A is the sum of the ranks' means: each rank divides by its own count, and the ranks are added");
    for (std::size_t r = 0; r < ranks; ++r) {
      const double square = evidence.products().product(2 + r, 2 + r);
      if (!(square > 0)) continue;
      std::vector<double> combination(ranks, 0.0);
      combination[r] = (evidence.products().product(0, 2 + r) + evidence.products().product(1, 2 + r)) / square;
      add(Pattern::kOneRankOnly, combination,
          "A is " + fixed(combination[r], 4) + " x the gradient of rank " + std::to_string(r) +
              " alone: the ranks were not synchronised, or the others' gradients were lost");
    }
  }
  return findings;
}

std::vector<Finding> fitted_findings(const Evidence& evidence, const RankWeights& weights) {
  const double ratio = evidence.ratio();
  const double left = evidence.unexplained_by_multiple(ratio);
  if (left <= kMediumLeft) {
    const Confidence confidence = *confidence_of(left);
    constexpr double kMostInteger = 64;
    constexpr double kNear = 1e-4;
    for (const bool inverse : {false, true}) {
      const double factor = inverse ? 1 / ratio : ratio;
      const double integer = std::round(factor);
      if (!(integer >= 2 && integer <= kMostInteger) || std::abs(factor / integer - 1) > kNear) continue;
      // An integer may be chance where no number that was given says so.
      std::string meaning = inverse ? "A = B / " : "A = B x ";
      meaning += fixed(integer, 0) + ": the world size or the accumulation, if one of them is that";
      return {{Pattern::kSmallIntegerRatio, std::min(confidence, Confidence::kMedium), left, std::move(meaning)}};
    }
    return {{Pattern::kConstantRatio, confidence, left,
             "A = " + ratio_text(ratio) +
                 " x B, which is none of the known counts: a norm that was clipped, a loss scale, another count"}};
  }
  // As many free numbers as ranks need components to show that it is no chance.
  const double enough = 2 * static_cast<double>(weights.a.size()) + 4;
  if (weights.a.size() < 2 || evidence.products().effective_elements() < enough) return {};
  const double rest = evidence.unexplained_by_ranks(weights.a);
  if (!(rest <= kMediumLeft) || weights.unexplained_b > kMediumLeft) return {};
  return {{Pattern::kRankWeights, *confidence_of(rest), rest,
           "A adds up the ranks' gradients with the weights " + weights_text(weights.a) + "; B has " +
               weights_text(weights.b)}};
}

}  // namespace samegrad
