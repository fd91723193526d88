#define XXH_INLINE_ALL  // everything of it is static, in the instructions that this file is compiled for
#include <xxhash.h>

#include <cstddef>

#include "samegrad/kernels/xxh3_update.h"

namespace samegrad::SAMEGRAD_ISA {

void xxh3_update(void* state, const char* bytes, std::size_t count) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, count);
}

}  // namespace samegrad::SAMEGRAD_ISA
