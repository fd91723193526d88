#include "samegrad/model/parameter_spec.h"

#include <gtest/gtest.h>

#include <cmath>

namespace samegrad {
namespace {

std::int64_t total(const ModelConfig& config) {
  std::int64_t elements = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) elements += spec.elements();
  return elements;
}

std::vector<float> initial_values(const ParameterSpec& spec, std::int64_t index, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(spec.elements()));
  initialise_parameter(spec, index, seed, values);
  return values;
}

TEST(ParameterSpec, TheLessonsModelHasExactly282628Parameters) { EXPECT_EQ(total(ModelConfig{}), 282628); }

TEST(ParameterSpec, ADecoderAddsAFinalNormAndAHeadOverItsVocabulary) {
  ModelConfig decoder{.kind = "decoder", .vocabulary = 256};
  // The lesson's 282,628 with 250 more tokens, 256 - 4 more output rows of 128 + 1, and a norm of 2 x 128.
  EXPECT_EQ(total(decoder), 282628 + 250 * 128 + 252 * 129 + 256);
  const std::vector<ParameterSpec> specs = parameter_specs(decoder);
  EXPECT_EQ(specs[2].name, "decoder.layers.0.self_attn.in_proj_weight");
  EXPECT_EQ(specs[specs.size() - 4].name, "norm.weight");
  EXPECT_EQ(specs[specs.size() - 2].shape, (std::vector<std::int64_t>{256, 128}));
}

// Expected values: expected_initial_values.py (own Philox, Python's statistics.NormalDist).
TEST(InitialWeights, EqualAnIndependentComputation) {
  struct Case {
    std::int64_t index;
    std::size_t element;
    double value;
  };
  const std::vector<ParameterSpec> specs = parameter_specs(ModelConfig{});
  for (const Case& c :
       {Case{0, 0, -0.0004348367762123605}, Case{0, 1, 0.005152799935851567}, Case{0, 2, -0.0006619830317091015},
        Case{0, 3, 0.004351442175915497}, Case{0, 767, -0.012512110598867832}, Case{2, 4, -0.006065362220046604},
        Case{2, 49151, -0.0009103723149985467}, Case{26, 511, 0.043840802154355284}}) {
    const std::vector<float> values = initial_values(specs[static_cast<std::size_t>(c.index)], c.index, 42);
    EXPECT_NEAR(values[c.element], c.value, 5e-7 * std::abs(c.value)) << c.index << "[" << c.element << "]";
  }
}

TEST(InitialWeights, AreNormalWithTheStatedDeviation) {
  const ParameterSpec spec = parameter_specs(ModelConfig{})[2];
  const std::vector<float> values = initial_values(spec, 2, 1);
  const auto n = static_cast<double>(values.size());
  double sum = 0.0;
  double squares = 0.0;
  double fourth = 0.0;
  for (const float value : values) {
    const double z = value / spec.standard_deviation;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  // Five standard errors of each moment of a normal sample of 49,152: 1/sqrt(n), sqrt(2/n), sqrt(96/n).
  EXPECT_NEAR(sum / n, 0.0, 5.0 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1.0, 5.0 * std::sqrt(2.0 / n));
  EXPECT_NEAR(fourth / n, 3.0, 5.0 * std::sqrt(96.0 / n));
}

TEST(InitialWeights, DifferBySeedAndParameterAndRepeat) {
  const ParameterSpec spec = parameter_specs(ModelConfig{})[2];
  const std::vector<float> values = initial_values(spec, 2, 1);
  EXPECT_EQ(values, initial_values(spec, 2, 1));
  EXPECT_NE(values, initial_values(spec, 2, 2));
  EXPECT_NE(values, initial_values(spec, 2, 1ULL << 32 | 1));
  EXPECT_NE(values, initial_values(spec, 3, 1));
}

TEST(InitialWeights, ZeroHeadZeroesTheHeadAlone) {
  ModelConfig config;
  const std::vector<ParameterSpec> normal = parameter_specs(config);
  config.init = "zero-head";
  const std::vector<ParameterSpec> zero_head = parameter_specs(config);
  for (std::size_t i = 0; i < normal.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const std::vector<float> values = initial_values(zero_head[i], index, 3);
    if (normal[i].name.starts_with("head.")) {
      EXPECT_EQ(values, std::vector<float>(values.size(), 0.0F)) << normal[i].name;
    } else {
      EXPECT_EQ(values, initial_values(normal[i], index, 3)) << normal[i].name;
    }
  }
}

TEST(InitialWeights, BiasesAreZeroAndNormsAreOne) {
  for (const ParameterSpec& spec : parameter_specs(ModelConfig{})) {
    if (spec.shape.size() == 2) continue;
    const float expected = spec.name.ends_with(".weight") ? 1.0F : 0.0F;
    EXPECT_EQ(initial_values(spec, 0, 1), std::vector<float>(static_cast<std::size_t>(spec.elements()), expected))
        << spec.name;
  }
}

}  // namespace
}  // namespace samegrad
