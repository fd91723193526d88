// A run in words and numbers, for headers, dry runs and manifests.
#pragma once

#include <string>

#include "apps/samegrad/run_context.h"
#include "samegrad/base/json.h"
#include "samegrad/plan/update_plan.h"
#include "samegrad/report/progress.h"

namespace samegrad {

/// The header's facts, except run id, action and last update. Local.
RunHeader run_header(const RunContext& context, std::int64_t first_update);

/// What `train --dry-run` shows: counts, cuts, memory, the tokens of each rank in the first window. Local.
std::string dry_run_text(const RunContext& context, std::int64_t first_update);

/// A line a rank: "update 7 rank 0: [[3,8],[5,1]]", a list per atom. Local.
std::string trace_ids_text(const PlanWindow& window, int world_size);

/// World size, transport, library versions and CPU dispatch, for manifest.json. Local.
Json manifest_facts(const RunContext& context);

}  // namespace samegrad
