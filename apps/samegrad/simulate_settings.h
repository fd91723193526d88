// What `simulate` is told about machines that are not here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/report/simulated_machine.h"

namespace samegrad {

inline constexpr std::int64_t kMostSimulatedRanks = 4096;

struct SimulateSettings {
  std::vector<std::int64_t> world_sizes;  ///< empty: powers of two
  std::int64_t atoms = 0;                 ///< of a window; 0: the config's
  std::int64_t atoms_per_rank = 0;        ///< 0: the window is the same for every number of ranks
  std::int64_t tokens = 0;                ///< of a sample; 0: what the config says
  std::string figure;                     ///< path; empty: none
  SimulatedMachine machine;
};

}  // namespace samegrad
