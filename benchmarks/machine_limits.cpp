#include "machine_limits.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

namespace samegrad {
namespace {

constexpr std::int64_t kRepetitions = 200'000;
constexpr std::size_t kChains = 10;  // more than latency x throughput of any core so far, and they fit in registers

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

volatile float sink = 0.0F;  // keeps the results from being left out

__attribute__((target("avx512f"))) void fma_avx512() {
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0F);
  const __m512 factor = _mm512_set1_ps(0.999999F);
  for (std::int64_t i = 0; i < kRepetitions; ++i) {
#pragma GCC unroll 10
    for (std::size_t c = 0; c < kChains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], factor, factor);
  }
  for (const __m512& sum : sums) sink = sink + sum[0];
}

__attribute__((target("avx2,fma"))) void fma_avx2() {
  __m256 sums[kChains];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1.0F);
  const __m256 factor = _mm256_set1_ps(0.999999F);
  for (std::int64_t i = 0; i < kRepetitions; ++i) {
#pragma GCC unroll 10
    for (std::size_t c = 0; c < kChains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], factor, factor);
  }
  for (const __m256& sum : sums) sink = sink + sum[0];
}

}  // namespace

double fma_flops_per_second() {
  const bool avx512 = __builtin_cpu_supports("avx512f");
  if (!avx512 && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return 0.0;
  const double operations = 2.0 * static_cast<double>(kRepetitions * kChains) * (avx512 ? 16 : 8);
  double best = 0.0;
  for (int run = 0; run < 40; ++run) best = std::max(best, operations / seconds_of(avx512 ? fma_avx512 : fma_avx2));
  return best;
}

double copy_bytes_per_second() {
  const std::size_t bytes = std::size_t{256} << 20U;
  const std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes, ' ');
  double best = 0.0;
  for (int run = 0; run < 6; ++run) {
    best = std::max(best, static_cast<double>(bytes) / seconds_of([&] { std::memcpy(to.data(), from.data(), bytes); }));
    sink = sink + static_cast<float>(to[static_cast<std::size_t>(run)]);
  }
  return best;
}

}  // namespace samegrad
