#include "samegrad/train/reference.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "samegrad/base/error.h"
#include "tests/unit/model/model_cases.h"

namespace samegrad {
namespace {

struct Case {
  std::string name;
  ModelConfig config;
  at::ScalarType dtype;
  double absolute;
  double relative;
};

// GoogleTest names a case by this.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }  // NOLINT(readability-identifier-naming)

class ModelAndReference : public testing::TestWithParam<Case> {};

// float32: the lesson's tolerance. float64: what is left of it when rounding is 2^29 times finer, with room for sums.
INSTANTIATE_TEST_SUITE_P(Kinds, ModelAndReference,
                         testing::Values(Case{"encoder_float32", encoder_config(), at::kFloat, 1e-6, 1e-4},
                                         Case{"decoder_float32", decoder_config(), at::kFloat, 1e-6, 1e-4},
                                         Case{"encoder_float64", encoder_config(), at::kDouble, 1e-12, 0.0},
                                         Case{"decoder_float64", decoder_config(), at::kDouble, 1e-12, 0.0}),
                         [](const auto& c) { return c.param.name; });

/// The model's gradient of S / N over the samples as atoms of 5.
std::vector<at::Tensor> model_gradient(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                       const std::vector<Sample>& samples, double count) {
  const std::unique_ptr<Model> model = make_model(config, parameters);
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (std::size_t begin = 0; begin < samples.size(); begin += 5) {
    const std::size_t size = std::min<std::size_t>(5, samples.size() - begin);
    sum = sum + model->loss_sum(pack(std::span(samples).subspan(begin, size)), std::nullopt);
  }
  return gradients_of(sum / count, parameters);
}

TEST_P(ModelAndReference, AgreeInLossCountAndEveryComponentOfTheGradient) {
  const Case& c = GetParam();
  const std::vector<at::Tensor> parameters = random_parameters(c.config, c.dtype);
  // 19 samples: more than one of the reference's padded batches, atoms cut elsewhere; lengths 1 to the longest.
  const std::vector<Sample> samples =
      random_samples(c.config, {1, 40, 7, 1, 23, 16, 2, 39, 5, 31, 12, 1, 28, 3, 9, 40, 18, 1, 33});
  std::int64_t supervised = 0;
  for (const Sample& sample : samples) supervised += sample.supervised_tokens();

  const ReferenceResult reference = reference_gradient(c.config, {}, parameters, c.dtype, samples);
  EXPECT_EQ(reference.units, supervised);
  EXPECT_EQ(reference.supervised_tokens, supervised);
  EXPECT_EQ(reference.divisor, static_cast<double>(supervised));
  const std::unique_ptr<Model> model = make_model(c.config, parameters);
  const auto loss_sum = model->loss_sum(pack(samples), std::nullopt).item<double>();
  EXPECT_NEAR(reference.loss_sum, loss_sum, (c.dtype == at::kFloat ? 1e-6 : 1e-13) * loss_sum);

  const std::vector<at::Tensor> gradients =
      model_gradient(c.config, parameters, samples, static_cast<double>(supervised));
  ASSERT_EQ(reference.gradients.size(), gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_EQ(reference.gradients[i].scalar_type(), c.dtype);
    const at::Tensor difference = (gradients[i] - reference.gradients[i]).abs();
    const at::Tensor allowed = c.absolute + c.relative * reference.gradients[i].abs();
    EXPECT_TRUE((difference <= allowed).all().item<bool>())
        << parameter_specs(c.config)[i].name << ": largest difference " << difference.max().item<double>();
  }
}

TEST_P(ModelAndReference, DisagreeWhenTheMeanIsTakenPerAtom) {
  const Case& c = GetParam();
  const std::vector<at::Tensor> parameters = random_parameters(c.config, c.dtype);
  const std::vector<Sample> samples = random_samples(c.config, {4, 37});
  const std::unique_ptr<Model> model = make_model(c.config, parameters);
  at::Tensor mean_of_means = at::zeros({}, at::kDouble);
  for (const Sample& sample : samples) {
    mean_of_means = mean_of_means + model->loss_sum(pack(std::span(&sample, 1)), std::nullopt) /
                                        static_cast<double>(sample.supervised_tokens()) / 2.0;
  }
  const std::vector<at::Tensor> wrong = gradients_of(mean_of_means, parameters);
  const ReferenceResult reference = reference_gradient(c.config, {}, parameters, c.dtype, samples);
  double largest = 0.0;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    largest = std::max(largest, (wrong[i] - reference.gradients[i]).abs().max().item<double>());
  }
  EXPECT_GT(largest, 1e-2);
}

TEST(Reference, SingleAndDoublePrecisionAgreeFromTheSameParameters) {
  const ModelConfig config = encoder_config();
  const std::vector<at::Tensor> parameters = random_parameters(config, at::kFloat);
  const std::vector<Sample> samples = random_samples(config, {20, 3});
  const ReferenceResult single = reference_gradient(config, {}, parameters, at::kFloat, samples);
  const ReferenceResult twice = reference_gradient(config, {}, parameters, at::kDouble, samples);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(single.gradients[i].to(at::kDouble).allclose(twice.gradients[i], 1e-4, 1e-6)) << i;
  }
}

TEST(Reference, LeavesTheGivenParametersAndTheirGradientsAlone) {
  const ModelConfig config = decoder_config();
  const std::vector<at::Tensor> parameters = random_parameters(config, at::kFloat);
  reference_gradient(config, {}, parameters, at::kFloat, random_samples(config, {6}));
  const std::vector<at::Tensor> fresh = random_parameters(config, at::kFloat);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_FALSE(parameters[i].grad().defined());
    EXPECT_TRUE(parameters[i].equal(fresh[i]));
  }
}

TEST(Reference, RefusesAWindowWithoutSupervisedTokens) {
  const ModelConfig config = encoder_config();
  std::vector<Sample> samples = random_samples(config, {6});
  samples[0].targets.assign(6, kIgnoreTarget);
  EXPECT_THROW(reference_gradient(config, {}, random_parameters(config, at::kFloat), at::kFloat, samples), RunError);
}

}  // namespace
}  // namespace samegrad
