#include "tests/unit/checkpoint/fault_hook.h"

#include "samegrad/base/fault_point.h"

namespace samegrad {

std::function<void(std::string_view)>& fault_hook() {
  static std::function<void(std::string_view)> hook;
  return hook;
}

void fault_point(std::string_view phase, int /*rank*/, std::int64_t /*update*/) {
  if (fault_hook()) {
    fault_hook()(phase);
  }
}

}  // namespace samegrad
