// Takes bytes into the state of an XXH3-128.
#pragma once

#include <cstddef>

namespace samegrad {

/// `state` is an XXH3_state_t of <xxhash.h>, whose form does not depend on the set of instructions. Local.
void xxh3_update(void* state, const char* bytes, std::size_t count);

}  // namespace samegrad
