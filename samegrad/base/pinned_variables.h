// The environment variables that decide bits on every machine: set by a launcher before a process starts, or by init()
// while that still has effect (docs/exactness.md, "What it rests on").
#pragma once

#include <array>

namespace samegrad {

struct PinnedVariable {
  const char* name;
  const char* value;
};

/// One compute thread a process, and MKL's run-to-run reproducible mode.
inline constexpr std::array<PinnedVariable, 3> kPinnedVariables{
    {{"OMP_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}, {"MKL_CBWR", "AUTO"}}};

}  // namespace samegrad
