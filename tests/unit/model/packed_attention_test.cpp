// Attention over packed sequences gives what PyTorch's gives sample by sample, and so does its gradient.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>

#include "samegrad/base/error.h"
#include "samegrad/ddp/recompute.h"
#include "tests/unit/model/packed_attention_cases.h"

namespace samegrad {
namespace {

constexpr std::int64_t kLayer = 3;
constexpr DropoutOperation kWeights{kLayer, DropoutPlace::kAttentionWeights};
const Dropout kNone(0.0, std::nullopt);

using Attention = std::function<at::Tensor(const at::Tensor& qkv)>;

struct ResultAndGradient {
  at::Tensor result;
  at::Tensor gradient;
};

ResultAndGradient of(const Attention& attention, const at::Tensor& qkv, const at::Tensor& upstream) {
  const at::Tensor leaf = qkv.detach().clone().requires_grad_();
  const at::Tensor result = attention(leaf);
  result.backward(upstream);
  return {result.detach(), leaf.grad()};
}

/// "" where both give the same within what rounding explains (sums of some hundred terms of size 1), else what differs.
std::string difference(const PackedCase& packed, at::ScalarType dtype, const Attention& expected,
                       const Dropout& dropout = kNone) {
  const at::Tensor qkv = qkv_of(packed, dtype);
  const at::Tensor upstream = uniform_values({packed.tokens(), packed.heads * packed.head_width}, dtype, 2);
  const ResultAndGradient ours =
      of([&](const at::Tensor& x) { return packed_attention(x, packed.offsets, packed.shape(), dropout, kLayer); }, qkv,
         upstream);
  // The expected values are computed in float64 of the same numbers.
  const ResultAndGradient theirs = of(expected, qkv.to(at::kDouble), upstream.to(at::kDouble));
  const double epsilon = dtype == at::kFloat ? 0x1.0p-23 : 0x1.0p-52;
  const auto far = [&](const at::Tensor& a, const at::Tensor& b) {
    return !a.to(at::kDouble).allclose(b, /*rtol=*/0.0, /*atol=*/500 * epsilon);
  };
  std::string text;
  if (far(ours.result, theirs.result)) text += "result ";
  if (far(ours.gradient, theirs.gradient)) text += "gradient ";
  return text;
}

struct Dimensions {
  std::int64_t heads;
  std::int64_t head_width;
};

class PackedAttention : public testing::TestWithParam<Dimensions> {};
INSTANTIATE_TEST_SUITE_P(Sizes, PackedAttention,
                         testing::Values(Dimensions{1, 1}, Dimensions{3, 3}, Dimensions{2, 8}, Dimensions{2, 17},
                                         Dimensions{4, 32}, Dimensions{2, 64}, Dimensions{1, 128}),
                         [](const auto& size) {
                           return "Heads" + std::to_string(size.param.heads) + "Of" +
                                  std::to_string(size.param.head_width);
                         });

TEST_P(PackedAttention, IsPyTorchsWithItsGradientForRandomLengths) {
  for (const bool causal : {false, true}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      // The longest span several blocks of rows and of keys.
      for (const std::int64_t longest : {2, 20, 70, 300}) {
        const PackedCase packed = packed_case(static_cast<std::uint32_t>(longest), 4, longest, GetParam().heads,
                                              GetParam().head_width, causal);
        const Attention expected = [&](const at::Tensor& qkv) { return pytorch_attention(qkv, packed); };
        EXPECT_EQ(difference(packed, dtype, expected), "")
            << (causal ? "causal" : "full") << " " << toString(dtype) << " up to " << longest;
      }
    }
  }
}

TEST_P(PackedAttention, WithDropoutIsTheFormulaWithTheSameMasks) {
  const Dropout dropout(0.3, DropoutKey{.seed = 1, .update = 2, .atom = 3});
  for (const bool causal : {false, true}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const PackedCase packed = packed_case(5, 3, 150, GetParam().heads, GetParam().head_width, causal);
      const Attention expected = [&](const at::Tensor& qkv) { return plain_attention(qkv, packed, dropout, kWeights); };
      EXPECT_EQ(difference(packed, dtype, expected, dropout), "") << (causal ? "causal" : "full");
    }
  }
}

TEST(PackedAttentionControls, AnotherScaleMaskOrSetOfOffsetsIsFound) {
  const PackedCase packed = packed_case(7, 4, 40, 2, 8, /*causal=*/true);
  PackedCase other = packed;
  EXPECT_EQ(difference(packed, at::kFloat, [&](const at::Tensor& qkv) { return pytorch_attention(qkv, packed); }), "");
  EXPECT_EQ(difference(packed, at::kFloat,
                       [&](const at::Tensor& qkv) { return pytorch_attention(qkv, packed, /*scale=*/0.35); }),
            "result gradient ")
      << "1 / sqrt(8) is 0.3536";
  other.causal = false;
  EXPECT_EQ(difference(packed, at::kFloat, [&](const at::Tensor& qkv) { return pytorch_attention(qkv, other); }),
            "result gradient ");
  other = packed;
  other.offsets.erase(other.offsets.begin() + 1);
  EXPECT_EQ(difference(packed, at::kFloat, [&](const at::Tensor& qkv) { return pytorch_attention(qkv, other); }),
            "result gradient ");
  const Dropout dropout(0.3, DropoutKey{.seed = 1});
  EXPECT_EQ(difference(
                packed, at::kFloat,
                [&](const at::Tensor& qkv) {
                  return plain_attention(qkv, packed, Dropout(0.3, DropoutKey{.seed = 2}), kWeights);
                },
                dropout),
            "result gradient ");
}

TEST(PackedAttentionGradient, IsTheLimitOfDifferences) {
  for (const bool causal : {false, true}) {
    const PackedCase packed{{0, 1, 4, 9}, 2, 3, causal};
    const Dropout dropout(0.3, DropoutKey{.seed = 4});
    const at::Tensor qkv = qkv_of(packed, at::kDouble);
    const at::Tensor upstream = uniform_values({9, 6}, at::kDouble, 2);
    const Attention attention = [&](const at::Tensor& x) {
      return packed_attention(x, packed.offsets, packed.shape(), dropout, kLayer);
    };
    const at::Tensor gradient = of(attention, qkv, upstream).gradient;
    constexpr double kStep = 1e-5;
    for (std::int64_t i = 0; i < qkv.numel(); ++i) {
      at::Tensor moved = qkv.clone();
      double* const value = moved.mutable_data_ptr<double>() + i;
      const double from = *value;
      *value = from + kStep;
      const double above = (attention(moved) * upstream).sum().item<double>();
      *value = from - kStep;
      const double below = (attention(moved) * upstream).sum().item<double>();
      EXPECT_NEAR(gradient.const_data_ptr<double>()[i], (above - below) / (2 * kStep), 1e-8) << i;
    }
  }
}

TEST(PackedAttentionBits, OfASampleDependNeitherOnItsNeighboursNorOnItsPlaceInMemory) {
  const PackedCase packed{{0, 37, 38, 138}, 2, 17, /*causal=*/false};
  const at::Tensor qkv = qkv_of(packed, at::kFloat);
  const at::Tensor upstream = uniform_values({138, 34}, at::kFloat, 2);
  const auto attention = [](std::vector<std::int64_t> offsets) {
    return [=](const at::Tensor& x) { return packed_attention(x, offsets, {2, false}, kNone, kLayer); };
  };
  const ResultAndGradient together = of(attention(packed.offsets), qkv, upstream);
  const ResultAndGradient alone = of(attention({0, 100}), qkv.narrow(0, 38, 100), upstream.narrow(0, 38, 100));
  EXPECT_TRUE(alone.result.equal(together.result.narrow(0, 38, 100)));
  EXPECT_TRUE(alone.gradient.equal(together.gradient.narrow(0, 38, 100)));

  at::Tensor moved = at::empty({qkv.numel() + 1}).narrow(0, 1, qkv.numel()).view(qkv.sizes());
  moved.copy_(qkv);
  EXPECT_TRUE(attention(packed.offsets)(moved).equal(together.result));
}

TEST(PackedAttentionValues, ThatAreLargeGiveTheirLimit) {
  // Scores of some 10,000: the largest takes all the weight, and nothing overflows.
  const PackedCase packed{{0, 1, 60, 260}, 2, 16, /*causal=*/true};
  const at::Tensor qkv = qkv_of(packed, at::kFloat) * 100.0;
  const auto attention = [&](const at::Tensor& x) {
    return packed_attention(x, packed.offsets, packed.shape(), kNone, kLayer);
  };
  const ResultAndGradient ours = of(attention, qkv, at::ones({260, 32}));
  EXPECT_TRUE(ours.gradient.isfinite().all().item<bool>());
  EXPECT_TRUE(ours.result.allclose(pytorch_attention(qkv, packed), /*rtol=*/1e-5, /*atol=*/1e-3));
}

TEST(PackedAttentionValues, NotANumberStaysInItsSampleAndIsNotLost) {
  for (const std::int64_t part : {0, 1, 2}) {
    const PackedCase packed{{0, 20, 60, 80}, 2, 16, /*causal=*/false};
    at::Tensor qkv = qkv_of(packed, at::kFloat);
    qkv.select(0, 33).narrow(0, part * 32, 16).fill_(std::nan(""));  // one token's first head
    const auto attention = [&](const at::Tensor& x) {
      return packed_attention(x, packed.offsets, packed.shape(), kNone, kLayer);
    };
    const ResultAndGradient ours = of(attention, qkv, at::ones({80, 32}));
    for (const at::Tensor& rows : {ours.result, ours.gradient}) {
      EXPECT_TRUE(rows.narrow(0, 0, 20).isfinite().all().item<bool>()) << part;
      EXPECT_TRUE(rows.narrow(0, 60, 20).isfinite().all().item<bool>()) << part;
      EXPECT_TRUE(rows.narrow(0, 20, 40).isnan().any().item<bool>()) << part;
    }
    const at::Tensor expected = pytorch_attention(qkv, packed);
    EXPECT_TRUE(ours.result.isnan().equal(expected.isnan())) << part;
  }
}

TEST(PackedAttentionValues, OfNoTokensAndOfEmptySamplesAreNone) {
  const at::Tensor nothing = at::zeros({0, 12}).requires_grad_();
  const at::Tensor result = packed_attention(nothing, std::vector<std::int64_t>{0}, {2, false}, kNone, kLayer);
  EXPECT_EQ(result.sizes(), (std::vector<std::int64_t>{0, 4}));
  result.sum().backward();
  const at::Tensor qkv = uniform_values({7, 12}, at::kFloat, 1);
  EXPECT_TRUE(packed_attention(qkv, std::vector<std::int64_t>{0, 0, 3, 3, 7}, {2, false}, kNone, kLayer)
                  .equal(packed_attention(qkv, std::vector<std::int64_t>{0, 3, 7}, {2, false}, kNone, kLayer)));
}

TEST(PackedAttentionGraph, RecomputedGivesTheSameBits) {
  const PackedCase packed = packed_case(9, 4, 60, 2, 16, /*causal=*/true);
  const Dropout dropout(0.2, DropoutKey{.seed = 4});
  const at::Tensor qkv = qkv_of(packed, at::kFloat);
  const at::Tensor upstream = uniform_values({packed.tokens(), 32}, at::kFloat, 2);
  const auto attention = [&](const at::Tensor& x) {
    return packed_attention(x, packed.offsets, packed.shape(), dropout, kLayer);
  };
  const ResultAndGradient kept = of(attention, qkv, upstream);
  const ResultAndGradient again = of([&](const at::Tensor& x) { return recompute(attention, x); }, qkv, upstream);
  EXPECT_TRUE(again.result.equal(kept.result));
  EXPECT_TRUE(again.gradient.equal(kept.gradient));
}

TEST(PackedAttentionGraph, IsNoneWithoutGradientAndHasNoSecondDerivative) {
  const PackedCase packed = packed_case(9, 2, 10, 2, 4, /*causal=*/false);
  const at::Tensor qkv = qkv_of(packed, at::kFloat).requires_grad_();
  const auto attention = [&] { return packed_attention(qkv, packed.offsets, packed.shape(), kNone, kLayer); };
  {
    const at::NoGradGuard none;
    EXPECT_FALSE(attention().requires_grad());
  }
  EXPECT_THROW(torch::autograd::grad({attention().sum()}, {qkv}, {}, /*retain_graph=*/true, /*create_graph=*/true),
               InputError);
}

TEST(PackedAttentionInput, OfAnotherTypeIsRefusedByName) {
  const at::Tensor half = at::zeros({4, 6}, at::kBFloat16);
  try {
    packed_attention(half, std::vector<std::int64_t>{0, 4}, {1, false}, kNone, kLayer);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("BFloat16"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace samegrad
