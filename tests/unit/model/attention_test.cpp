#include "samegrad/model/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "samegrad/model/feed_forward.h"
#include "tests/unit/model/model_cases.h"

namespace samegrad {
namespace {

constexpr std::int64_t kWidth = 8;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kLayer = 3;

LayerParameters layer_parameters() {
  const std::vector<at::Tensor> parameters = random_parameters(encoder_config(kWidth), at::kDouble);
  ParameterCursor cursor(std::span<const at::Tensor>(parameters).subspan(2));  // after token and position
  return cursor.layer();
}

at::Tensor rows(std::int64_t count) {
  at::Tensor x = at::empty({count, kWidth}, at::kDouble);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    x.mutable_data_ptr<double>()[i] = test_noise(5, 0, static_cast<std::uint32_t>(i));
  }
  return x;
}

at::Tensor linear(const at::Tensor& x, const LinearParameters& parameters) {
  return x.matmul(parameters.weight.t()) + parameters.bias;
}

/// One head of one sample; `weights_dropout` acts on its [length, length] weights.
template <typename WeightsDropout>
at::Tensor head(const at::Tensor& qkv, std::int64_t number, bool causal, const WeightsDropout& weights_dropout) {
  constexpr std::int64_t kHeadWidth = kWidth / kHeads;
  const auto part = [&](std::int64_t which) { return qkv.narrow(1, which * kWidth + number * kHeadWidth, kHeadWidth); };
  at::Tensor e = (part(0).matmul(part(1).t()) / std::sqrt(static_cast<double>(kHeadWidth))).exp();
  if (causal) e = e.tril();
  return weights_dropout(e / e.sum(1, /*keepdim=*/true)).matmul(part(2));
}

class SelfAttention : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Masks, SelfAttention, testing::Bool(),
                         [](const auto& causal) { return causal.param ? "causal" : "bidirectional"; });

TEST_P(SelfAttention, DropsAttentionWeightsAndItsResultWithMasksThatNoTwoSamplesShare) {
  const bool causal = GetParam();
  const LayerParameters parameters = layer_parameters();
  const std::vector<std::int64_t> offsets{0, 5, 6, 13};
  const at::Tensor x = rows(13);
  const Dropout dropout(0.3, DropoutKey{.seed = 1, .update = 2, .atom = 3});

  std::vector<at::Tensor> samples;
  std::int64_t weights_before = 0;
  for (std::size_t s = 0; s < 3; ++s) {
    const std::int64_t length = offsets[s + 1] - offsets[s];
    const at::Tensor qkv = linear(x.narrow(0, offsets[s], length), parameters.in_projection);
    std::vector<at::Tensor> heads;
    for (std::int64_t number = 0; number < kHeads; ++number) {
      heads.push_back(head(qkv, number, causal, [&](const at::Tensor& weights) {
        const std::int64_t first = weights_before;
        weights_before += length * length;
        return dropout(weights, {kLayer, DropoutPlace::kAttentionWeights}, first);
      }));
    }
    samples.push_back(at::cat(heads, 1));
  }
  const at::Tensor expected =
      dropout(linear(at::cat(samples, 0), parameters.out_projection), {kLayer, DropoutPlace::kAttention});
  const at::Tensor result = self_attention(x, offsets, parameters, {kHeads, causal}, dropout, kLayer);
  EXPECT_TRUE(result.allclose(expected, 0.0, 1e-13));
}

TEST_P(SelfAttention, WithoutDropoutIsTheSoftmaxOfScaledProducts) {
  const LayerParameters parameters = layer_parameters();
  const std::vector<std::int64_t> offsets{0, 7};
  const at::Tensor x = rows(7);
  const at::Tensor qkv = linear(x, parameters.in_projection);
  const auto keep = [](const at::Tensor& weights) { return weights; };
  const at::Tensor mixed = at::cat({head(qkv, 0, GetParam(), keep), head(qkv, 1, GetParam(), keep)}, 1);
  const at::Tensor result =
      self_attention(x, offsets, parameters, {kHeads, GetParam()}, Dropout(0.3, std::nullopt), kLayer);
  EXPECT_TRUE(result.allclose(linear(mixed, parameters.out_projection), 0.0, 1e-13));
}

TEST(FeedForward, DropsInsideAndAfter) {
  const LayerParameters parameters = layer_parameters();
  const at::Tensor x = rows(9);
  const Dropout dropout(0.3, DropoutKey{.seed = 1, .update = 2, .atom = 3});
  const at::Tensor z = linear(x, parameters.linear1);
  const at::Tensor inner = 0.5 * z * (1.0 + at::erf(z / std::sqrt(2.0)));
  const at::Tensor expected =
      dropout(linear(dropout(inner, {kLayer, DropoutPlace::kInnerFeedForward}), parameters.linear2),
              {kLayer, DropoutPlace::kFeedForward});
  EXPECT_TRUE(feed_forward(x, parameters, dropout, kLayer).allclose(expected, 0.0, 1e-13));
}

}  // namespace
}  // namespace samegrad
