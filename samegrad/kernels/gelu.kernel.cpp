#include "samegrad/kernels/gelu.h"

#include <cstdint>

#include "samegrad/kernels/float_math.h"
#include "samegrad/kernels/independent_steps.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

struct ValueAndSlope {
  float value;
  float slope;
};

/// With t = |x|: Phi(-t) = e^(-t^2/2) g(t), where (1 + t) g(t) is smooth in s = (t - 4) / (t + 4); a polynomial of
/// degree 10 is within 2e-9 of it, relative (a fit in double; the form is Shepherd and Laframboise's, Math. Comp.
/// 1981).
[[gnu::always_inline]] inline ValueAndSlope gelu_at(float x) {
  const float size = x < 0.0F ? -x : x;
  const float t = size > 14.0F ? 14.0F : size;
  // -t^2/2 = high + low, high exact: the upper half of t's digits squared.
  std::int32_t bits = 0;
  __builtin_memcpy(&bits, &t, sizeof bits);
  bits &= ~0xFFF;
  float upper = 0.0F;
  __builtin_memcpy(&upper, &bits, sizeof upper);
  const float e = exponential(-0.5F * (upper * upper), -0.5F * ((t - upper) * (t + upper)));
  const float s = (t - 4.0F) / (t + 4.0F);
  float p = -7.03013944673122e-05F;
  p = multiply_add(p, s, -5.696404408815716e-05F);
  p = multiply_add(p, s, 6.954517379164366e-04F);
  p = multiply_add(p, s, -3.0461464602615627e-04F);
  p = multiply_add(p, s, -5.005916774389062e-03F);
  p = multiply_add(p, s, 1.794001944862111e-02F);
  p = multiply_add(p, s, -3.219703370038027e-02F);
  p = multiply_add(p, s, 2.8600029809868192e-02F);
  p = multiply_add(p, s, 1.3999584139231773e-02F);
  p = multiply_add(p, s, -9.670346885475205e-02F);
  p = multiply_add(p, s, 4.720532069485193e-01F);
  const float tail = e * (p / (t + 1.0F));  // Phi(-t)
  const float below = x < 0.0F ? tail : 1.0F - tail;
  return {x * below, multiply_add(x, e * 0.398942280F, below)};
}

}  // namespace

void gelu(const float* x, const float* mask, std::int64_t count, float* values, float* slopes) {
  if (mask == nullptr && slopes == nullptr) {
    SAMEGRAD_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < count; ++i) values[i] = gelu_at(x[i]).value;
  } else if (slopes == nullptr) {
    SAMEGRAD_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < count; ++i) values[i] = gelu_at(x[i]).value * mask[i];
  } else if (mask == nullptr) {
    SAMEGRAD_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < count; ++i) {
      const ValueAndSlope at = gelu_at(x[i]);
      values[i] = at.value;
      slopes[i] = at.slope;
    }
  } else {
    SAMEGRAD_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < count; ++i) {
      const ValueAndSlope at = gelu_at(x[i]);
      values[i] = at.value * mask[i];
      slopes[i] = at.slope * mask[i];
    }
  }
}

}  // namespace samegrad::SAMEGRAD_ISA
