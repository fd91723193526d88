#include "samegrad/report/loss_divisor.h"

#include <cstdint>

#include "samegrad/base/untrusted_json.h"
#include "samegrad/report/json_number.h"
#include "samegrad/report/number_text.h"

namespace samegrad {

std::string divisor_text(const LossSum& loss) { return loss.weight ? shortest(*loss.weight) : grouped(loss.count); }

Json divisor_to_json(const LossSum& loss) { return loss.weight ? number_to_json(*loss.weight) : Json(loss.count); }

LossSum loss_from_json(const Json& line) {
  const Json& divisor = line.contains("divisor") ? line.at("divisor") : line.at("supervised_tokens");
  LossSum loss{number_from_json(line.at("loss_sum"))};
  if (divisor.is_number_integer()) {
    loss.count = whole_number(divisor);
  } else {
    loss.weight = number_from_json(divisor);
  }
  return loss;
}

}  // namespace samegrad
