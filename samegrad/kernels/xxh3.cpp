#include "samegrad/kernels/xxh3.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <span>

#include "samegrad/base/digest.h"
#include "samegrad/kernels/isa.h"
#include "samegrad/kernels/xxh3_update.h"

namespace samegrad {

using Xxh3Update = decltype(xxh3_update);
namespace portable {
Xxh3Update xxh3_update;
}
namespace avx2 {
Xxh3Update xxh3_update;
}
namespace avx512 {
Xxh3Update xxh3_update;
}

void xxh3_update(void* state, const char* bytes, std::size_t count) {
  static Xxh3Update* const kUpdate = kernel_for(portable::xxh3_update, avx2::xxh3_update, avx512::xxh3_update);
  kUpdate(state, bytes, count);
}

struct Xxh3::State {
  XXH3_state_t value;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->value); }

Xxh3::~Xxh3() = default;

void Xxh3::update(std::string_view bytes) { xxh3_update(&state_->value, bytes.data(), bytes.size()); }

std::string Xxh3::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->value));
  return hexadecimal(canonical.digest);
}

}  // namespace samegrad
