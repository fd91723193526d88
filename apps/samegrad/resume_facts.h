// The resumed run beside the one that never stopped, from what both left in outputs/.
#pragma once

#include <optional>

#include "samegrad/config/run_paths.h"
#include "samegrad/report/run_report.h"

namespace samegrad {

/// Final parameters component by component, and the parameters' hashes of every update that both runs made, of the last
/// continuous and the last resumed run in metrics.jsonl. Nothing where one of the two is missing, they had
/// another config or other data, or ended at different updates. Throws InputError or
/// CheckError where a file cannot be read. Local.
std::optional<ResumeFacts> resume_facts(const RunPaths& paths);

}  // namespace samegrad
