#include "samegrad/kernels/dropout_mask.h"

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {

/// philox4x32 of base/philox.h for many blocks side by side: 4 mask values each.
void mask_blocks(const MaskNumbers& numbers, float probability, float kept, std::uint32_t first_block,
                 std::int64_t blocks, float* mask) {
  constexpr int kTogether = 64;  // a loop that the compiler makes vectors of, not one that it writes out
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (std::int64_t begin = 0; begin < blocks; begin += kTogether) {
    std::uint32_t words[4][kTogether];
    for (int i = 0; i < kTogether; ++i) {
      words[0][i] = first_block + static_cast<std::uint32_t>(begin + i);
      words[1][i] = numbers.operation;
      words[2][i] = numbers.atom;
      words[3][i] = numbers.update;
    }
    std::uint32_t key0 = numbers.key0;
    std::uint32_t key1 = numbers.key1;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kTogether; ++i) {
        const std::uint64_t product0 = static_cast<std::uint64_t>(kMultiplier0) * words[0][i];
        const std::uint64_t product1 = static_cast<std::uint64_t>(kMultiplier1) * words[2][i];
        words[0][i] = static_cast<std::uint32_t>(product1 >> 32) ^ words[1][i] ^ key0;
        words[1][i] = static_cast<std::uint32_t>(product1);
        words[2][i] = static_cast<std::uint32_t>(product0 >> 32) ^ words[3][i] ^ key1;
        words[3][i] = static_cast<std::uint32_t>(product0);
      }
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    const int count = blocks - begin < kTogether ? static_cast<int>(blocks - begin) : kTogether;
    for (int i = 0; i < count; ++i) {
      for (int word = 0; word < 4; ++word) {
        const float unit = static_cast<float>(static_cast<std::int32_t>(words[word][i] >> 8)) * 0x1.0p-24F;
        mask[4 * (begin + i) + word] = unit < probability ? 0.0F : kept;
      }
    }
  }
}

}  // namespace samegrad::SAMEGRAD_ISA
