// What can be said of two sets of tensors, and of combinations of others, from sums of products: one pass over the
// data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "samegrad/checkpoint/safetensors.h"

namespace samegrad {

/// Sums of products over the components of one tensor. The vectors are: the difference a - b, b, and each of `others`,
/// in this order. The difference has its own place so that a small one is not lost beside b.
struct TensorProducts {
  std::string name{};
  std::int64_t elements = 0;
  std::vector<double> products{};  ///< vectors x vectors, row-major, symmetric
  double fourth_powers = 0.0;      ///< sum of b^4
  bool a_is_float32 = true;        ///< every component of a is a float32 number, whatever its type
  bool b_is_float32 = true;
  double root_mean_square = 0.0;  ///< of b
};

/// Requires float tensors of one shape. Local.
TensorProducts multiply_tensors(const TensorView& a, const TensorView& b, std::span<const TensorView* const> others);

/// All tensors in one, each divided by its own scale first: its root mean square of b, but at least `kLeastScale` of
/// the largest one. So a tensor counts by its number of components and not by its size, and one of rounding noise only
/// (the bias of attention keys) hardly at all.
class WeightedProducts {
 public:
  static constexpr double kLeastScale = 1e-2;

  explicit WeightedProducts(std::span<const TensorProducts> tensors);

  /// Vectors besides difference and b.
  std::size_t others() const { return vectors_ - 2; }
  double product(std::size_t row, std::size_t column) const { return products_[row * vectors_ + column]; }
  /// Length of the sum of weights[i] x vector i; `weights` may be shorter than the list of vectors.
  double length(std::span<const double> weights) const;
  /// The scale of each tensor, by index.
  double scale(std::size_t tensor) const { return scales_[tensor]; }
  double elements() const { return elements_; }
  /// (sum b^2)^2 / sum b^4: how many components carry b; 1 where a single one outweighs all others.
  double effective_elements() const { return effective_elements_; }

  /// Least squares: the weights w with which sum of w[i] x others[i] comes closest to weights_of x vectors. Empty where
  /// others depend on one another. One that is zero everywhere gets weight 0.
  std::vector<double> fit_others(std::span<const double> target) const;

 private:
  std::size_t vectors_ = 2;
  std::vector<double> products_;
  std::vector<double> scales_;
  double elements_ = 0.0;
  double effective_elements_ = 0.0;
};

}  // namespace samegrad
