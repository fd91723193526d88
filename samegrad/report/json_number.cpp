#include "samegrad/report/json_number.h"

#include <cmath>
#include <limits>

namespace samegrad {

Json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0.0 ? "Infinity" : "-Infinity";
}

double number_from_json(const Json& json) {
  if (json == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (json == "Infinity") return std::numeric_limits<double>::infinity();
  if (json == "-Infinity") return -std::numeric_limits<double>::infinity();
  return json.get<double>();
}

}  // namespace samegrad
