// Places where a test makes a process fail. It does nothing in programs; only the test worker links
// samegrad_env_faults.
#pragma once

#include <cstdint>
#include <string_view>

namespace samegrad {

/// Marks that `rank` is in `phase` ("backward", "exchange", "save-manifest", ...) of `update`.
///
/// samegrad_env_faults obeys SAMEGRAD_FAULT="rank=R,step=S,kind=K[,phase=P]": where rank, update and phase fit, the
/// process does K: `exit:N` (leaves at once with code N), `kill9`, `hang` (stops itself), `sleep:S` (for S seconds),
/// `throw` (RunError), `signal:N` (sends itself signal N, once, and goes on), or `crash-in-save` (kill9, in phases that
/// begin with "save"). rank and step default to any, phase to "backward" (any "save..." for crash-in-save). A value
/// that cannot be read throws InputError. Local.
void fault_point(std::string_view phase, int rank, std::int64_t update);

}  // namespace samegrad
