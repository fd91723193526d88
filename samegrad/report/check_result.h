// One line of a verdict: what must be, what was measured, and whether it holds.
#pragma once

#include <span>
#include <string>

#include "samegrad/base/json.h"
#include "samegrad/report/text_style.h"

namespace samegrad {

struct CheckResult {
  std::string name{};
  std::string expected{};
  std::string measured{};
  bool holds = false;
};

/// There is at least one check, and all hold. Local.
bool all_hold(std::span<const CheckResult> checks);

/// A table with PASS or FAIL before each check. Local.
std::string checks_text(std::span<const CheckResult> checks, const TextStyle& style);

/// "All 9 checks hold.", or how many do not. Local.
std::string checks_verdict(std::span<const CheckResult> checks, const TextStyle& style);

/// [{"name","expected","measured","holds"}]. Local.
Json checks_to_json(std::span<const CheckResult> checks);

}  // namespace samegrad
