#include "samegrad/plan/python_random.h"

#include <bit>
#include <numeric>
#include <unordered_set>

#include "samegrad/base/check.h"

namespace samegrad {

namespace {

constexpr std::array<std::uint32_t, 1> kZeroSeed{0};
constexpr std::size_t kTwistShift = 397;  // m of MT19937
constexpr std::int64_t kSmallSet = 21;    // CPython's guess of the size at which a set costs more than a list

std::array<std::uint32_t, 2> words_of(std::uint64_t value) {
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
}

std::uint64_t magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

}  // namespace

PythonRandom::PythonRandom(std::int64_t seed) : PythonRandom(words_of(magnitude(seed))) {}

PythonRandom::PythonRandom(std::span<const std::uint32_t> words) {
  while (!words.empty() && words.back() == 0) words = words.first(words.size() - 1);
  seed_by_array(words.empty() ? std::span<const std::uint32_t>(kZeroSeed) : words);
}

void PythonRandom::seed_by_array(std::span<const std::uint32_t> key) {
  state_[0] = 19650218U;
  for (std::size_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<std::uint32_t>(i);
  }
  std::size_t i = 1;
  const auto advance = [&] {
    if (++i == kWords) {
      state_[0] = state_[kWords - 1];
      i = 1;
    }
  };
  std::size_t j = 0;
  for (std::size_t step = std::max(kWords, key.size()); step > 0; --step) {
    state_[i] =
        (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525U)) + key[j] + static_cast<std::uint32_t>(j);
    advance();
    j = (j + 1) % key.size();
  }
  for (std::size_t step = kWords - 1; step > 0; --step) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941U)) - static_cast<std::uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000U;
  position_ = kWords;
}

void PythonRandom::twist() {
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t y = (state_[i] & 0x80000000U) | (state_[(i + 1) % kWords] & 0x7fffffffU);
    state_[i] = state_[(i + kTwistShift) % kWords] ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
  }
  position_ = 0;
}

std::uint32_t PythonRandom::next_word() {
  if (position_ == kWords) twist();
  std::uint32_t y = state_[position_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

std::uint64_t PythonRandom::getrandbits(int bits) {
  SAMEGRAD_CHECK_OP(bits, >=, 0);
  SAMEGRAD_CHECK_OP(bits, <=, 64);
  if (bits == 0) return 0;
  if (bits <= 32) return next_word() >> (32 - bits);
  const std::uint64_t low = next_word();
  const std::uint64_t high = next_word() >> (64 - bits);
  return low | (high << 32);
}

double PythonRandom::random() {
  const double high = next_word() >> 5;  // 27 bits
  const double low = next_word() >> 6;   // 26 bits
  return (high * 0x1.0p26 + low) * 0x1.0p-53;
}

std::uint64_t PythonRandom::randbelow(std::uint64_t n) {
  SAMEGRAD_CHECK_OP(n, >, 0U);
  const int bits = static_cast<int>(std::bit_width(n));
  std::uint64_t value = getrandbits(bits);
  while (value >= n) value = getrandbits(bits);
  return value;
}

std::int64_t python_sample_pool_limit(std::int64_t count) {
  if (count <= 5) return kSmallSet;
  // The least power of four that is not below 3 * count, in integers: no logarithm, so no rounding to doubt.
  std::int64_t table = 4;
  while (table / 3 < count) table *= 4;
  return kSmallSet + table;
}

std::vector<std::int64_t> PythonRandom::sample(std::int64_t population, std::int64_t count) {
  SAMEGRAD_CHECK_OP(count, >=, 0);
  SAMEGRAD_CHECK_OP(count, <=, population);
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(count));
  if (population <= python_sample_pool_limit(count)) {
    std::vector<std::int64_t> pool(static_cast<std::size_t>(population));
    std::iota(pool.begin(), pool.end(), 0);
    for (; count > 0; --count) {
      std::int64_t& drawn = pool[static_cast<std::size_t>(randbelow(pool.size()))];
      result.push_back(drawn);
      drawn = pool.back();
      pool.pop_back();
    }
    return result;
  }
  std::unordered_set<std::int64_t> taken;
  while (static_cast<std::int64_t>(result.size()) < count) {
    const auto drawn = static_cast<std::int64_t>(randbelow(static_cast<std::uint64_t>(population)));
    if (taken.insert(drawn).second) result.push_back(drawn);
  }
  return result;
}

}  // namespace samegrad
