// N, what a loss sum is divided by, as text and JSON: a whole number where units are counted, else their total weight.
#pragma once

#include <string>

#include "samegrad/base/json.h"
#include "samegrad/objective/loss_sum.h"

namespace samegrad {

/// 18231 -> "18,231"; a weight as the shortest text that reads back. Local.
std::string divisor_text(const LossSum& loss);

/// An integer, or a number with a fraction or point where N is a weight. Local.
Json divisor_to_json(const LossSum& loss);

/// The loss of a line of metrics.jsonl, or of its "validation": "loss_sum" over "divisor" (over "supervised_tokens"
/// where a version before there were other units wrote it). Throws Json::exception. Local.
LossSum loss_from_json(const Json& line);

}  // namespace samegrad
