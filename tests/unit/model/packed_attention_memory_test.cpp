// The memory of attention over packed sequences grows with tokens, not with the square of a length. A program of its
// own: the peak of a process counts.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "tests/unit/model/packed_attention_cases.h"

namespace samegrad {
namespace {

constexpr std::int64_t kTokens = 8192;
constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kSquareMiB = kTokens * kTokens * 4 / kMiB;  // the weights of one head: 256

/// A line of /proc/self/status, in MiB.
std::int64_t status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::int64_t kib = 0;
    if (word == name + ":" && status >> kib) return kib / 1024;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

/// MiB that a forward and a backward take at their peak beyond what is held before them.
std::int64_t peak_mib(const PackedCase& packed, const std::function<at::Tensor(const at::Tensor&)>& attention) {
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;  // the peak starts anew
  const at::Tensor qkv = qkv_of(packed, at::kFloat).requires_grad_();
  const std::int64_t before = status_mib("VmRSS");
  attention(qkv).sum().backward();
  return status_mib("VmHWM") - before;
}

TEST(PackedAttentionMemory, OfALongSequenceIsFarBelowItsSquare) {
  const PackedCase packed{{0, kTokens}, 1, 32, /*causal=*/true};
  const Dropout dropout(0.1, DropoutKey{.seed = 4});
  const auto ours = [&](const at::Tensor& qkv) {
    return packed_attention(qkv, packed.offsets, packed.shape(), dropout, 0);
  };
  EXPECT_LT(peak_mib(packed, ours), kSquareMiB / 8);
}

TEST(PackedAttentionMemory, OfTheFormulaWouldBeFound) {
  const PackedCase packed{{0, kTokens}, 1, 8, /*causal=*/false};
  const auto formula = [&](const at::Tensor& qkv) {
    return plain_attention(qkv, packed, Dropout(0.0, std::nullopt), {0, DropoutPlace::kAttentionWeights});
  };
  EXPECT_GT(peak_mib(packed, formula), kSquareMiB);
}

}  // namespace
}  // namespace samegrad
