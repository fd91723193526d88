// The patterns that samegrad/report/diagnose.h tries, as candidates judged by one rule.
#pragma once

#include <span>
#include <vector>

#include "samegrad/report/diagnose.h"
#include "samegrad/report/tensor_products.h"

namespace samegrad {

/// The two sets as seen by the patterns.
class Evidence {
 public:
  explicit Evidence(const WeightedProducts& products);

  const WeightedProducts& products() const { return *products_; }
  double difference() const { return difference_; }  ///< |A - B|
  double ratio() const { return ratio_; }            ///< <A, B> / <B, B>

  /// What a prediction of A leaves unexplained: |A - prediction| over the smaller of |A - B| and |A|. Without |A|, a
  /// small multiple of a large B would explain anything.
  double unexplained_by_multiple(double factor) const;
  /// The same for sum of weights[r] x the gradient of rank r.
  double unexplained_by_ranks(std::span<const double> weights) const;

 private:
  double unexplained(std::span<const double> remainder) const;

  const WeightedProducts* products_;
  double difference_;
  double least_;
  double ratio_;
};

/// A's and B's weights of the ranks' gradients, and by what each must be multiplied to be the gradient of the rank's
/// mean loss (1 unless the counts say that the files hold sums).
struct RankWeights {
  std::vector<double> a{};
  std::vector<double> b{};
  std::vector<double> to_mean{};
  double unexplained_b = 0.0;  ///< |B - its combination| / |B|
};

/// Empty weights where the ranks' gradients depend on one another. Local.
RankWeights fit_rank_weights(const Evidence& evidence, const RunNumbers& numbers);

/// Multiples of B that the numbers name. Local.
std::vector<Finding> ratio_findings(const Evidence& evidence, const RunNumbers& numbers);

/// Combinations of the ranks' gradients that have a name. Local.
std::vector<Finding> rank_findings(const Evidence& evidence, const RankWeights& weights);

/// What fits by free numbers: a small integer, any multiple, any combination of ranks. At most one. Local.
std::vector<Finding> fitted_findings(const Evidence& evidence, const RankWeights& weights);

}  // namespace samegrad
