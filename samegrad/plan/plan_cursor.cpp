#include "samegrad/plan/plan_cursor.h"

namespace samegrad {

Json plan_cursor_to_json(const PlanCursor& cursor) {
  return {{"update", cursor.update},
          {"epoch", cursor.epoch},
          {"window_in_epoch", cursor.window_in_epoch},
          {"samples_consumed", cursor.samples_consumed}};
}

}  // namespace samegrad
