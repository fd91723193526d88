#include "samegrad/train/generate.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr std::int64_t kVocabulary = 6;
constexpr std::int32_t kEnd = 5;

ModelConfig config() { return {.kind = "decoder", .vocabulary = kVocabulary, .positions = 8}; }

/// Always likes the token after the last one it saw, and remembers how many it saw.
class CountingModel final : public Model {
 public:
  at::Tensor logits(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const override {
    EXPECT_FALSE(dropout.has_value());
    seen.push_back(batch.tokens());
    at::Tensor logits = at::zeros({batch.tokens(), kVocabulary});
    for (std::int64_t t = 0; t < batch.tokens(); ++t) {
      logits[t][(batch.inputs[static_cast<std::size_t>(t)] + 1) % kVocabulary].fill_(4.0);
    }
    return logits;
  }

  mutable std::vector<std::int64_t> seen;

 protected:
  LossAndZ sums(const PackedBatch&, const std::optional<DropoutKey>&, bool) const override { return {}; }
};

/// The same logits after every token.
class ConstantModel final : public Model {
 public:
  explicit ConstantModel(at::Tensor logits) : logits_(std::move(logits)) {}
  at::Tensor logits(const PackedBatch& batch, const std::optional<DropoutKey>&) const override {
    return logits_.unsqueeze(0).repeat({batch.tokens(), 1});
  }

 protected:
  LossAndZ sums(const PackedBatch&, const std::optional<DropoutKey>&, bool) const override { return {}; }

 private:
  at::Tensor logits_;
};

using Tokens = std::vector<std::int32_t>;

TEST(Generate, TakesTheLikeliestTokenAndStopsBeforeTheEndToken) {
  EXPECT_EQ(generate(CountingModel(), config(), Tokens{1}, {.end_token = kEnd}), (Tokens{2, 3, 4}));
}

TEST(Generate, StopsAfterTheAskedNumberOfTokens) {
  EXPECT_EQ(generate(CountingModel(), config(), Tokens{1}, {.most_tokens = 2, .end_token = kEnd}), (Tokens{2, 3}));
  EXPECT_EQ(generate(CountingModel(), config(), Tokens{1}, {.most_tokens = 0, .end_token = kEnd}), Tokens{});
}

TEST(Generate, ShowsTheModelNoMoreThanItsPositions) {
  const CountingModel model;
  generate(model, config(), Tokens{0, 1, 2, 3, 4, 5, 0}, {.most_tokens = 4, .end_token = -1});
  EXPECT_EQ(model.seen, (std::vector<std::int64_t>{7, 8, 8, 8}));
}

TEST(Generate, DrawsTokensWithTheirProbabilities) {
  const at::Tensor probabilities = at::tensor({0.1, 0.0, 0.5, 0.25, 0.15, 0.0}, at::kDouble);
  for (const double temperature : {1.0, 2.0}) {
    const ConstantModel model(probabilities.log() * temperature);
    const Tokens drawn = generate(model, config(), Tokens{0},
                                  {.most_tokens = 4000, .temperature = temperature, .seed = 3, .end_token = kEnd});
    ASSERT_EQ(drawn.size(), 4000);
    for (std::int32_t token = 0; token < kVocabulary; ++token) {
      const auto p = probabilities[token].item<double>();
      const auto share = static_cast<double>(std::count(drawn.begin(), drawn.end(), token)) / 4000.0;
      EXPECT_NEAR(share, p, 5.0 * std::sqrt(p * (1.0 - p) / 4000.0)) << "token " << token;
    }
  }
}

TEST(Generate, RepeatsForOneSeedAndDiffersForAnother) {
  const ConstantModel model(at::zeros({kVocabulary}));
  const auto draw = [&](std::uint64_t seed) {
    return generate(model, config(), Tokens{0}, {.most_tokens = 50, .temperature = 1.0, .seed = seed, .end_token = -1});
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Generate, RefusesWhatItCannotContinue) {
  const CountingModel model;
  EXPECT_THROW(generate(model, config(), Tokens{}, {}), InputError);
  EXPECT_THROW(generate(model, config(), Tokens{1, 6}, {}), InputError);
  EXPECT_THROW(generate(model, config(), Tokens{-1}, {}), InputError);
  EXPECT_THROW(generate(model, config(), Tokens{1}, {.temperature = -0.5}), InputError);
  EXPECT_THROW(generate(model, config(), Tokens{1}, {.temperature = std::numeric_limits<double>::infinity()}),
               InputError);
}

}  // namespace
}  // namespace samegrad
