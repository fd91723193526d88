// The exact GELU, x Phi(x) with the normal distribution's Phi (Hendrycks and Gimpel 2016), and its slope.
#pragma once

#include <cstdint>

namespace samegrad {

/// values[i] = gelu(x[i]) and slopes[i] = gelu'(x[i]), both times mask[i] where `mask` is not null; slopes may be null,
/// or x itself. float: values to 3e-7 of themselves, slopes to 2e-7; double: by the C library. Local.
void gelu(const float* x, const float* mask, std::int64_t count, float* values, float* slopes);
void gelu(const double* x, const double* mask, std::int64_t count, double* values, double* slopes);

}  // namespace samegrad
