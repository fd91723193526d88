// Mistakes in what a rank says of missing peers, which the campaign must catch. The program is linked with these in the
// place of the real functions (CMakeLists.txt), which they call while nothing is broken.
#pragma once

#include <string>

namespace samegrad::testing {

/// no-record: phases are not noted. blames-a-waiting-rank: the first that waits is named. hears-nothing: over gloo,
/// what another rank has told is not looked for. stopped-is-slow: a stopped process is taken for one that sleeps.
/// Anything else but "" throws std::invalid_argument.
void break_for(const std::string& mistake);

}  // namespace samegrad::testing
