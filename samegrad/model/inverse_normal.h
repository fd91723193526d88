// The quantile of the normal distribution in plain arithmetic: the same bits on every machine.
#pragma once

namespace samegrad {

/// The z with Phi(z) = p, for 2^-33 <= p <= 1 - 2^-33, with relative error below 2e-7: Wichura's PPND7 (algorithm AS
/// 241, Applied Statistics 37, 1988), whose branch beyond |z| = 6.3 this range does not reach. Only + - * / and sqrt,
/// which IEEE 754 rounds correctly; no libm. Local.
double inverse_normal(double p);

}  // namespace samegrad
