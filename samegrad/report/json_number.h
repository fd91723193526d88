// Numbers in the files that samegrad writes for people and checks: JSON has no NaN and no infinity.
#pragma once

#include "samegrad/base/json.h"

namespace samegrad {

/// A finite number as number; else the text "NaN", "Infinity" or "-Infinity": never dropped, never replaced. Local.
Json number_to_json(double value);

/// The inverse. Throws nlohmann::json::exception for anything else. Local.
double number_from_json(const Json& json);

}  // namespace samegrad
