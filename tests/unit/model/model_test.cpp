#include "samegrad/model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "samegrad/base/check.h"
#include "tests/unit/ddp/counting_allocator.h"
#include "tests/unit/model/model_cases.h"

namespace samegrad {
namespace {

ModelConfig config_of(const std::string& kind, std::int64_t width = 32) {
  return kind == "encoder" ? encoder_config(width) : decoder_config(width);
}

class BothModels : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, BothModels, testing::Values("encoder", "decoder"),
                         [](const auto& kind) { return kind.param; });

/// |(S(p + h d) - S(p - h d)) / 2h - <gradient, d>| for a random direction d over all parameters, relative.
double directional_error(const ModelConfig& config, const std::optional<DropoutKey>& key) {
  const std::vector<at::Tensor> parameters = random_parameters(config, at::kDouble);
  const std::unique_ptr<Model> model = make_model(config, parameters);
  const PackedBatch batch = pack(random_samples(config, {1, 5, 3}));
  const std::vector<at::Tensor> gradients = gradients_of(model->loss_sum(batch, key), parameters);
  const std::vector<at::Tensor> direction = random_parameters(config, at::kDouble, /*seed=*/2);

  const at::NoGradGuard no_grad;
  constexpr double kStep = 1e-5;
  const auto loss_at = [&](double step) {
    std::vector<at::Tensor> moved;
    for (std::size_t i = 0; i < parameters.size(); ++i) moved.push_back(parameters[i] + step * direction[i]);
    return make_model(config, moved)->loss_sum(batch, key).item<double>();
  };
  double expected = 0.0;
  for (std::size_t i = 0; i < gradients.size(); ++i) expected += (gradients[i] * direction[i]).sum().item<double>();
  const double measured = (loss_at(kStep) - loss_at(-kStep)) / (2.0 * kStep);
  return std::abs(measured - expected) / std::abs(expected);
}

TEST_P(BothModels, GradientIsTheDerivativeByFiniteDifferences) {
  EXPECT_LT(directional_error(config_of(GetParam(), 8), std::nullopt), 1e-8);
}

TEST_P(BothModels, GradientUnderDropoutIsTheDerivativeForThoseMasks) {
  ModelConfig config = config_of(GetParam(), 8);
  config.dropout = 0.4;
  EXPECT_LT(directional_error(config, DropoutKey{.seed = 5, .update = 6, .atom = 7}), 1e-8);
}

TEST_P(BothModels, RecomputedLayersKeepLessAndHaveTheSameBits) {
  const std::int64_t& live = CountingAllocator::installed().live;
  ModelConfig config = config_of(GetParam());
  config.layers = 6;
  config.dropout = 0.1;
  const std::vector<at::Tensor> parameters = random_parameters(config, at::kFloat);
  const PackedBatch batch = pack(random_samples(config, {9, 40, 30}));
  std::vector<std::int64_t> kept;
  std::vector<std::vector<at::Tensor>> gradients;
  for (const bool recomputed : {false, true}) {
    config.gradient_checkpointing = recomputed;
    const std::unique_ptr<Model> model = make_model(config, parameters);
    const std::int64_t before = live;
    const at::Tensor loss = model->loss_sum(batch, DropoutKey{.seed = 5, .update = 6, .atom = 7});
    kept.push_back(live - before);
    gradients.push_back(gradients_of(loss, parameters));
  }
  EXPECT_LT(4 * kept[1], kept[0]);
  EXPECT_GT(kept[1], config.layers * batch.tokens() * config.width * 4);
  for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(at::equal(gradients[0][i], gradients[1][i])) << i;
}

TEST_P(BothModels, EverySupervisedTokenCountsAndNoOther) {
  const ModelConfig config = config_of(GetParam());
  const std::unique_ptr<Model> model = make_model(config, random_parameters(config, at::kDouble));
  const PackedBatch batch = pack(random_samples(config, {9, 17}));
  const at::Tensor log_probabilities = model->logits(batch, std::nullopt).log_softmax(1);
  double expected = 0.0;
  for (std::int64_t t = 0; t < batch.tokens(); ++t) {
    const std::int64_t target = batch.targets[static_cast<std::size_t>(t)];
    if (target != kIgnoreTarget) expected -= log_probabilities[t][target].item<double>();
  }
  EXPECT_NEAR(model->loss_sum(batch, std::nullopt).item<double>(), expected, 1e-12 * expected);
}

TEST_P(BothModels, ASampleIsNotTouchedByItsNeighboursInTheAtom) {
  const ModelConfig config = config_of(GetParam());
  const std::unique_ptr<Model> model = make_model(config, random_parameters(config, at::kDouble));
  const std::vector<Sample> samples = random_samples(config, {12, 1, 40, 7});
  const at::Tensor together = model->logits(pack(samples), std::nullopt);
  std::int64_t row = 0;
  for (const Sample& sample : samples) {
    const at::Tensor alone = model->logits(pack(std::span(&sample, 1)), std::nullopt);
    EXPECT_TRUE(together.narrow(0, row, alone.size(0)).allclose(alone, 0.0, 1e-12)) << "sample " << sample.id;
    row += alone.size(0);
  }
}

TEST_P(BothModels, GradientBitsRepeatAlsoAfterOtherAtoms) {
  ModelConfig config = config_of(GetParam());
  for (const double probability : {0.0, 0.2}) {
    config.dropout = probability;
    const std::vector<at::Tensor> parameters = random_parameters(config, at::kFloat);
    const std::unique_ptr<Model> model = make_model(config, parameters);
    const DropoutKey key{.seed = 1, .update = 3, .atom = 2};
    const PackedBatch batch = pack(random_samples(config, {12, 1, 40, 7}));
    const auto gradients = [&](const PackedBatch& atom) {
      return gradients_of(model->loss_sum(atom, key), parameters);
    };
    const std::vector<at::Tensor> first = gradients(batch);
    gradients(pack(random_samples(config, {33, 20, 2}, /*seed=*/8)));
    const std::vector<at::Tensor> second = gradients(batch);
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(second[i])) << "parameter " << i;
  }
}

TEST_P(BothModels, DropoutDependsOnSeedUpdateAndAtomAndIsOffInEvaluation) {
  ModelConfig config = config_of(GetParam());
  const std::vector<at::Tensor> parameters = random_parameters(config, at::kDouble);
  const PackedBatch batch = pack(random_samples(config, {12, 5}));
  const at::Tensor without = make_model(config, parameters)->logits(batch, DropoutKey{.seed = 1});
  config.dropout = 0.1;
  const std::unique_ptr<Model> model = make_model(config, parameters);
  const at::Tensor base = model->logits(batch, DropoutKey{.seed = 1, .update = 1, .atom = 1});
  EXPECT_TRUE(model->logits(batch, DropoutKey{.seed = 1, .update = 1, .atom = 1}).equal(base));
  EXPECT_FALSE(model->logits(batch, DropoutKey{.seed = 2, .update = 1, .atom = 1}).allclose(base));
  EXPECT_FALSE(model->logits(batch, DropoutKey{.seed = 1, .update = 2, .atom = 1}).allclose(base));
  EXPECT_FALSE(model->logits(batch, DropoutKey{.seed = 1, .update = 1, .atom = 2}).allclose(base));
  EXPECT_TRUE(model->logits(batch, std::nullopt).equal(without));
}

TEST_P(BothModels, DropoutThatDropsNothingGivesTheLogitsWithoutDropout) {
  // With this probability the explicit attention runs, but among these elements none is below it (2^-24 each).
  ModelConfig config = config_of(GetParam());
  const std::vector<at::Tensor> parameters = random_parameters(config, at::kDouble);
  const PackedBatch batch = pack(random_samples(config, {12, 1, 5}));
  const at::Tensor without = make_model(config, parameters)->logits(batch, std::nullopt);
  config.dropout = 1e-15;
  const at::Tensor with = make_model(config, parameters)->logits(batch, DropoutKey{.seed = 1});
  EXPECT_TRUE(with.allclose(without, 0.0, 1e-12));
}

TEST_P(BothModels, AnAtomWithoutSupervisedTokensCostsZeroAndHasAZeroGradient) {
  const ModelConfig config = config_of(GetParam());
  const std::vector<at::Tensor> parameters = random_parameters(config, at::kFloat);
  const std::unique_ptr<Model> model = make_model(config, parameters);
  PackedBatch batch = pack(random_samples(config, {4, 3}));
  std::fill(batch.targets.begin(), batch.targets.end(), kIgnoreTarget);
  const at::Tensor loss = model->loss_sum(batch, std::nullopt);
  EXPECT_EQ(loss.item<double>(), 0.0);
  for (const at::Tensor& gradient : gradients_of(loss, parameters)) EXPECT_TRUE((gradient == 0).all().item<bool>());
  EXPECT_EQ(model->loss_sum(pack({}), std::nullopt).item<double>(), 0.0);
}

TEST_P(BothModels, ZeroHeadCostsTheLogarithmOfTheChoices) {
  ModelConfig config = config_of(GetParam());
  config.init = "zero-head";
  config.vocabulary = 256;
  std::vector<at::Tensor> parameters;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    const at::Tensor values = at::empty(spec.shape, at::kFloat);
    initialise_parameter(spec, static_cast<std::int64_t>(parameters.size()), /*seed=*/1,
                         {values.mutable_data_ptr<float>(), static_cast<std::size_t>(values.numel())});
    parameters.push_back(values);
  }
  const PackedBatch batch = pack(random_samples(config, {20, 30}));
  const double mean = make_model(config, parameters)->loss_sum(batch, std::nullopt).item<double>() /
                      static_cast<double>(batch.supervised_tokens());
  // ln 256 = 5.545177 for the decoder, ln 5 for the encoder's classes.
  EXPECT_NEAR(mean, GetParam() == "decoder" ? 5.545177444479562 : 1.6094379124341003, 1e-6);
}

TEST_P(BothModels, ASampleLongerThanThePositionsIsRefused) {
  const ModelConfig config = config_of(GetParam());
  const std::unique_ptr<Model> model = make_model(config, random_parameters(config, at::kFloat));
  EXPECT_THROW(model->logits(pack(random_samples(config, {41})), std::nullopt), InvariantError);
}

TEST_P(BothModels, ParametersOfAnotherShapeAreRefused) {
  const ModelConfig config = config_of(GetParam());
  std::vector<at::Tensor> parameters = random_parameters(config, at::kFloat);
  parameters.pop_back();
  EXPECT_THROW(make_model(config, parameters), InvariantError);
  parameters.push_back(at::zeros({99}));
  EXPECT_THROW(make_model(config, parameters), InvariantError);
}

TEST(Decoder, ALaterTokenChangesNoEarlierLogit) {
  const ModelConfig config = decoder_config();
  const std::unique_ptr<Model> model = make_model(config, random_parameters(config, at::kFloat));
  std::vector<Sample> samples = random_samples(config, {30});
  const at::Tensor before = model->logits(pack(samples), std::nullopt);
  for (const std::int64_t place : {29, 17, 1}) {
    std::vector<Sample> changed = samples;
    std::int32_t& token = changed[0].inputs[static_cast<std::size_t>(place)];
    token = (token + 1) % 11;
    const at::Tensor after = model->logits(pack(changed), std::nullopt);
    EXPECT_TRUE(after.narrow(0, 0, place).equal(before.narrow(0, 0, place))) << "token " << place;
    EXPECT_FALSE(after[place].equal(before[place])) << "token " << place;
  }
}

TEST(Encoder, ALaterTokenChangesEarlierLogits) {
  const ModelConfig config = encoder_config();
  const std::unique_ptr<Model> model = make_model(config, random_parameters(config, at::kFloat));
  std::vector<Sample> samples = random_samples(config, {30});
  const at::Tensor before = model->logits(pack(samples), std::nullopt);
  samples[0].inputs[29] = (samples[0].inputs[29] + 1) % 11;
  EXPECT_FALSE(model->logits(pack(samples), std::nullopt)[0].allclose(before[0]));
}

}  // namespace
}  // namespace samegrad
