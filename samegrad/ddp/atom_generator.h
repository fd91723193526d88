// ATen's default generator, keyed instead of carried: modules that draw from it (dropout, noise) draw the same numbers
// for an atom whichever rank runs it, and whatever ran before.
#pragma once

#include <cstdint>

namespace samegrad {

/// Seeds ATen's default CPU generator with 32 bits (it uses no more) that are a hash of the three (Philox4x32). The
/// generator is the process's own: ranks that are threads of one process would share it. Local.
void key_default_generator(std::uint64_t seed, std::int64_t update, std::int64_t atom);

}  // namespace samegrad
