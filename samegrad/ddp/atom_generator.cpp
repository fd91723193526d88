#include "samegrad/ddp/atom_generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

#include "samegrad/base/philox.h"

namespace samegrad {

void key_default_generator(std::uint64_t seed, std::int64_t update, std::int64_t atom) {
  const auto low = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const auto high = [](std::int64_t value) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32);
  };
  const std::uint32_t bits =
      philox4x32({low(update), high(update), low(atom), high(atom)}, philox_key(seed, PhiloxStream::kAtomGenerator))[0];
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(bits);
}

}  // namespace samegrad
