// The environment variables that decide bits, and must be set before libtorch's first operation (docs/exactness.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "samegrad/config/run_config.h"

namespace samegrad {

using EnvironmentVariables = std::vector<std::pair<std::string, std::string>>;

/// One compute thread a process, and MKL's run-to-run reproducible mode; with `run.isa` other than auto also the
/// instructions that ATen and oneDNN may use. Throws InputError for an isa other than auto, default, avx2, avx512.
/// Local.
EnvironmentVariables pinned_environment(const RunSection& run);

}  // namespace samegrad
