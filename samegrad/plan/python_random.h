// CPython's random.Random, number for number: the lesson's plan is defined by it, and anyone can check a plan with a
// few lines of Python.
//
// Sources: MT19937 and init_by_array by M. Matsumoto and T. Nishimura ("Mersenne Twister", ACM TOMACS 8(1), 1998, and
// their reference program mt19937ar); how CPython seeds and draws from it: Lib/random.py and Modules/_randommodule.c
// (unchanged since Python 3.2 in what is used here).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace samegrad {

class PythonRandom {
 public:
  /// random.Random(seed). Like CPython, it uses |seed|. Local.
  explicit PythonRandom(std::int64_t seed);
  /// random.Random(s) for an int of any size: s = words[0] + words[1] * 2^32 + ...; most significant zero words are
  /// dropped, as CPython has none. Local.
  explicit PythonRandom(std::span<const std::uint32_t> words);

  /// random.Random.getrandbits(bits), 0 <= bits <= 64. Local.
  std::uint64_t getrandbits(int bits);
  /// random.Random.random(): a double in [0, 1) with 53 bits. Local.
  double random();
  /// random.Random._randbelow(n), n > 0: uniform in 0..n-1, by rejection. Local.
  std::uint64_t randbelow(std::uint64_t n);
  /// random.Random.sample(range(population), count): `count` different indices in the order drawn.
  /// Requires 0 <= count <= population. Local.
  std::vector<std::int64_t> sample(std::int64_t population, std::int64_t count);
  /// random.Random.shuffle(values). Local.
  template <typename T>
  void shuffle(std::span<T> values) {
    // What is drawn does not depend on the values: some places are drawn at once, so that they come from memory
    // together.
    constexpr std::size_t kAtOnce = 32;
    std::array<std::size_t, kAtOnce> drawn{};
    for (std::size_t left = values.size(); left > 1;) {
      const std::size_t count = left - 1 < kAtOnce ? left - 1 : kAtOnce;
      for (std::size_t k = 0; k < count; ++k) {
        drawn[k] = static_cast<std::size_t>(randbelow(left - k));
        __builtin_prefetch(&values[drawn[k]], /*rw=*/1);
      }
      for (std::size_t k = 0; k < count; ++k, --left) std::swap(values[left - 1], values[drawn[k]]);
    }
  }

 private:
  static constexpr std::size_t kWords = 624;

  void seed_by_array(std::span<const std::uint32_t> key);
  void twist();
  std::uint32_t next_word();

  std::array<std::uint32_t, kWords> state_{};
  std::size_t position_ = kWords;
};

/// The population size up to which random.Random.sample(_, count) draws from a copy of the population; above it, from
/// the indices, with a set of those already taken. 21, plus 4 ** ceil(log(3 * count, 4)) where count > 5. Local.
std::int64_t python_sample_pool_limit(std::int64_t count);

}  // namespace samegrad
