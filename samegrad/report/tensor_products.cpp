#include "samegrad/report/tensor_products.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "samegrad/report/tensor_component.h"

namespace samegrad {

TensorProducts multiply_tensors(const TensorView& a, const TensorView& b, std::span<const TensorView* const> others) {
  const std::size_t vectors = 2 + others.size();
  const std::size_t elements = b.bytes.size() / component_width(b.type);
  TensorProducts result;
  result.name = b.name;
  result.elements = static_cast<std::int64_t>(elements);
  result.products.assign(vectors * vectors, 0.0);
  std::vector<double> values(vectors);
  const auto is_float32 = [](double value) { return static_cast<double>(static_cast<float>(value)) == value; };
  for (std::size_t i = 0; i < elements; ++i) {
    const double suspect = tensor_component(a, i);
    const double reference = tensor_component(b, i);
    result.a_is_float32 = result.a_is_float32 && is_float32(suspect);
    result.b_is_float32 = result.b_is_float32 && is_float32(reference);
    values[0] = suspect - reference;
    values[1] = reference;
    for (std::size_t k = 0; k < others.size(); ++k) values[2 + k] = tensor_component(*others[k], i);
    for (std::size_t row = 0; row < vectors; ++row) {
      for (std::size_t column = row; column < vectors; ++column) {
        result.products[row * vectors + column] += values[row] * values[column];
      }
    }
    result.fourth_powers += reference * reference * reference * reference;
  }
  for (std::size_t row = 0; row < vectors; ++row) {
    for (std::size_t column = 0; column < row; ++column) {
      result.products[row * vectors + column] = result.products[column * vectors + row];
    }
  }
  if (elements > 0) result.root_mean_square = std::sqrt(result.products[vectors + 1] / static_cast<double>(elements));
  return result;
}

WeightedProducts::WeightedProducts(std::span<const TensorProducts> tensors) {
  double largest = 0.0;
  for (const TensorProducts& tensor : tensors) {
    largest = std::max(largest, tensor.root_mean_square);
    vectors_ = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(tensor.products.size()))));
  }
  products_.assign(vectors_ * vectors_, 0.0);
  double fourth_powers = 0.0;
  for (const TensorProducts& tensor : tensors) {
    const double scale = largest > 0 ? std::max(tensor.root_mean_square, kLeastScale * largest) : 1.0;
    scales_.push_back(scale);
    elements_ += static_cast<double>(tensor.elements);
    for (std::size_t i = 0; i < products_.size(); ++i) products_[i] += tensor.products[i] / scale / scale;
    fourth_powers += tensor.fourth_powers / scale / scale / scale / scale;
  }
  const double squares = product(1, 1);
  if (fourth_powers > 0) effective_elements_ = squares * squares / fourth_powers;
}

double WeightedProducts::length(std::span<const double> weights) const {
  double square = 0.0;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    for (std::size_t column = 0; column < weights.size(); ++column) {
      square += weights[row] * weights[column] * product(row, column);
    }
  }
  // Rounding may leave a little less than nothing; a NaN stays one.
  return square < 0 ? 0.0 : std::sqrt(square);
}

std::vector<double> WeightedProducts::fit_others(std::span<const double> target) const {
  std::vector<std::size_t> used;
  for (std::size_t k = 0; k < others(); ++k) {
    if (product(2 + k, 2 + k) > 0) used.push_back(k);
  }
  // Normal equations with unit diagonal, solved by Cholesky; the right-hand side is the last row.
  const std::size_t n = used.size();
  const auto norm = [&](std::size_t i) { return std::sqrt(product(2 + used[i], 2 + used[i])); };
  std::vector<std::vector<double>> factor(n + 1, std::vector<double>(n, 0.0));
  for (std::size_t row = 0; row <= n; ++row) {
    for (std::size_t column = 0; column < n && column <= row; ++column) {
      double value = 0.0;
      if (row < n) {
        value = product(2 + used[row], 2 + used[column]) / norm(row) / norm(column);
      } else {
        for (std::size_t k = 0; k < target.size(); ++k) value += target[k] * product(k, 2 + used[column]);
        value /= norm(column);
      }
      for (std::size_t k = 0; k < column; ++k) value -= factor[row][k] * factor[column][k];
      if (row == column) {
        constexpr double kDependent = 1e-10;
        if (!(value > kDependent)) return {};
        factor[row][column] = std::sqrt(value);
      } else {
        factor[row][column] = value / factor[column][column];
      }
    }
  }
  std::vector<double> weights(others(), 0.0);
  std::vector<double> solution(n, 0.0);
  for (std::size_t row = n; row-- > 0;) {
    double value = factor[n][row];
    for (std::size_t k = row + 1; k < n; ++k) value -= factor[k][row] * solution[k];
    solution[row] = value / factor[row][row];
    weights[used[row]] = solution[row] / norm(row);
  }
  return weights;
}

}  // namespace samegrad
