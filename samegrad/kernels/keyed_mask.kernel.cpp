#include "samegrad/kernels/keyed_mask.h"

#include "samegrad/kernels/registers.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

/// Philox blocks that are computed at once: a word of each in the lower half of an element.
constexpr int kBlocks = kRegisterBytes / 8;
constexpr int kWords = 4 * kBlocks;
using Words [[gnu::vector_size(kRegisterBytes)]] = std::uint64_t;
constexpr std::uint64_t kLower = 0xFFFFFFFF;

/// The words of kBlocks blocks from `block` on, in order.
[[gnu::always_inline]] inline void random_words(const KeyedMask& mask, std::int64_t block, std::uint32_t* words) {
  Words counter[4];
  for (int i = 0; i < kBlocks; ++i) counter[0][i] = static_cast<std::uint64_t>(i);
  counter[0] = (counter[0] + static_cast<std::uint64_t>(block)) & kLower;
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
  // Words 0 and 1 of a block as one element, then words 2 and 3: in memory they lie in order.
  const Words first_pair = counter[0] | (counter[1] << 32);
  const Words second_pair = counter[2] | (counter[3] << 32);
  const Words in_order[2] = {interleave_lower(first_pair, second_pair), interleave_upper(first_pair, second_pair)};
  __builtin_memcpy(words, in_order, sizeof in_order);
}

template <typename Element>
void fill(const KeyedMask& given, std::int64_t first, std::int64_t count, Element* values) {
  const KeyedMask mask = given;  // a copy: the values could alias the caller's
  const auto kept = static_cast<Element>(mask.kept);
  for (std::int64_t number = first / 4 * 4; number < first + count; number += kWords) {
    std::uint32_t words[kWords];
    random_words(mask, number / 4, words);
    Element factors[kWords];
    for (int i = 0; i < kWords; ++i) factors[i] = (words[i] >> 8) < mask.threshold ? Element{0} : kept;
    const std::int64_t begin = number < first ? first - number : 0;
    const std::int64_t left = first + count - number;
    if (begin == 0 && left >= kWords) {
      __builtin_memcpy(values + (number - first), factors, sizeof factors);
    } else {
      for (std::int64_t i = begin; i < (left < kWords ? left : kWords); ++i) values[number - first + i] = factors[i];
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
