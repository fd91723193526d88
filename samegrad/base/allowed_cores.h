// How many cores this process may use.
#pragma once

namespace samegrad {

/// Those of its affinity, which taskset, srun and containers restrict (std::thread::hardware_concurrency() counts the
/// others, too). At least 1. Local.
int allowed_cores();

}  // namespace samegrad
