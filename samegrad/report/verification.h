// What `samegrad verify` found: one window's gradient by all processes against one process on an independent path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/report/check_result.h"
#include "samegrad/report/compare.h"
#include "samegrad/report/gradient_checks.h"
#include "samegrad/report/text_style.h"

namespace samegrad {

/// float64 from the model to the division: |error| <= 1e-12 + 1e-12 x |reference| for every component. Another
/// order of summation makes about 1e-16 of a gradient of the lesson's size, so this leaves room for rounding alone.
inline constexpr Tolerance kFloat64Tolerance{.absolute = 1e-12, .relative = 1e-12};

/// One precision, all of it: model, sums, exchange, division.
struct PrecisionFacts {
  LossSum loss{};       ///< by all processes
  LossSum reference{};  ///< by one
  Comparison gradient{};
  std::int64_t reference_tokens = 0;  ///< supervised ones, counted by the reference
};

/// A process's part of the window.
struct RankTokens {
  std::int64_t atoms = 0;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  ///< supervised
};

struct ControlOutcome {
  ControlFacts facts{};
  std::string cannot_show{};  ///< why this window cannot tell it from the right one, and then nothing was compared
};

struct VerificationInput {
  std::int64_t update = 0;  ///< that the window makes
  std::int64_t total_updates = 0;
  std::string weights{};  ///< which, for a person
  std::int64_t parameters = 0;
  std::int64_t virtual_ranks = 0;
  std::int64_t accumulation = 0;
  double dropout = 0.0;  ///< in the config; off in every gradient here
  PrecisionFacts float32{};
  PrecisionFacts float64{};
  std::vector<RankTokens> ranks{};  ///< by process
  std::vector<ControlOutcome> controls{};
  std::string counted = "supervised tokens";  ///< what N counts
};

/// The input judged.
struct Verification {
  VerificationInput input{};
  std::vector<CheckResult> checks{};

  /// Supervised tokens of the window.
  std::int64_t tokens() const;
  bool holds() const { return all_hold(checks); }
  /// kDone, or kCheckFailed.
  ExitCode exit_code() const { return holds() ? ExitCode::kDone : ExitCode::kCheckFailed; }
};

/// Both gradients must be within their tolerance in every component, both mean losses too, with equal counts, and each
/// control that can show must be rejected. Local.
Verification judge_verification(VerificationInput input);

/// How many times the allowed error a comparison's largest error is. Local.
double times_allowed(const Comparison& comparison);

/// The verdict, then what it was made from. Local.
std::string verification_text(const Verification& verification, const TextStyle& style);

/// The same numbers (docs/formats.md). Local.
Json verification_to_json(const Verification& verification);

}  // namespace samegrad
