#include "samegrad/kernels/keyed_mask.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

/// Philox blocks that are computed at once, a word in each element's lower half.
constexpr int kBlocks = 8;
constexpr int kWords = 4 * kBlocks;
using Words [[gnu::vector_size(8 * kBlocks)]] = std::uint64_t;
constexpr std::uint64_t kLower = 0xFFFFFFFF;

/// The words of kBlocks blocks from `block` on, in order, each cut to its upper 24 bits.
void random_words(const KeyedMask& mask, std::int64_t block, std::uint32_t* words) {
  Words counter[4];
  for (int i = 0; i < kBlocks; ++i) counter[0][i] = static_cast<std::uint64_t>(block + i) & kLower;
  counter[1] = Words{} + mask.operation;
  counter[2] = Words{} + mask.atom;
  counter[3] = Words{} + mask.update;
  std::uint64_t key0 = mask.key[0];
  std::uint64_t key1 = mask.key[1];
  for (int round = 0; round < 10; ++round) {
    const Words product0 = counter[0] * std::uint64_t{0xD2511F53};
    const Words product1 = counter[2] * std::uint64_t{0xCD9E8D57};
    counter[0] = (product1 >> 32) ^ counter[1] ^ key0;
    counter[1] = product1 & kLower;
    counter[2] = (product0 >> 32) ^ counter[3] ^ key1;
    counter[3] = product0 & kLower;
    key0 = (key0 + 0x9E3779B9) & kLower;
    key1 = (key1 + 0xBB67AE85) & kLower;
  }
  for (int i = 0; i < kBlocks; ++i) {
    for (int word = 0; word < 4; ++word) words[4 * i + word] = static_cast<std::uint32_t>(counter[word][i] >> 8);
  }
}

template <typename Element>
void fill(const KeyedMask& mask, std::int64_t first, std::int64_t count, Element* values) {
  const auto kept = static_cast<Element>(mask.kept);
  std::uint32_t words[kWords];
  for (std::int64_t number = first / 4 * 4; number < first + count; number += kWords) {
    random_words(mask, number / 4, words);
    const std::int64_t begin = number < first ? first - number : 0;
    const std::int64_t left = first + count - number;
    const std::int64_t end = left < kWords ? left : kWords;
    for (std::int64_t i = begin; i < end; ++i) {
      values[number - first + i] = words[i] < mask.threshold ? Element{0} : kept;
    }
  }
}

}  // namespace

void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, float* values) {
  fill(mask, first, count, values);
}

void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, double* values) {
  fill(mask, first, count, values);
}

}  // namespace samegrad::SAMEGRAD_ISA
