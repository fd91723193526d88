// Where a run stands in its plan: what a checkpoint records and a resume compares.
#pragma once

#include <cstdint>

#include "samegrad/base/json.h"

namespace samegrad {

/// The place between two updates. It names the window that comes next, so that the end of an epoch is the start of the
/// following one and never a state of being exhausted.
struct PlanCursor {
  std::int64_t update = 0;            ///< updates done; the next window makes update + 1
  std::int64_t epoch = 0;             ///< 0-based, of the next window
  std::int64_t window_in_epoch = 0;   ///< 0-based, of the next window
  std::int64_t samples_consumed = 0;  ///< by all updates done

  bool operator==(const PlanCursor&) const = default;
};

/// {"update","epoch","window_in_epoch","samples_consumed"}. Local.
Json plan_cursor_to_json(const PlanCursor& cursor);

}  // namespace samegrad
