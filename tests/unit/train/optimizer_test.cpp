// A step with its hash in one pass, and what a damaged checkpoint may not do to an optimizer.
#include "samegrad/train/optimizer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/train/whole_gradient.h"

namespace samegrad {
namespace {

// Gaps behind the first and the last, and pieces that are cut inside the second.
FlatLayout layout_with_gaps() { return FlatLayout({{"a", {3}}, {"b", {10'000}}, {"c", {5}}}); }

OptimizerConfig config_of(const std::string& kind, double momentum) {
  OptimizerConfig config;
  config.kind = kind;
  config.momentum = momentum;
  config.weight_decay = 0.01;
  return config;
}

std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

class EachOptimizer : public testing::TestWithParam<std::pair<std::string, double>> {
 protected:
  EachOptimizer() : values_(size(), 0.0F), gradient_(size(), 0.0F) {
    for (const ParameterPlace& place : layout_.places()) {
      for (std::int64_t i = place.offset; i < place.offset + place.elements; ++i) {
        values_[static_cast<std::size_t>(i)] = std::sin(static_cast<float>(i));
        gradient_[static_cast<std::size_t>(i)] = std::cos(static_cast<float>(3 * i));
      }
    }
  }
  std::size_t size() const { return static_cast<std::size_t>(layout_.flat_elements()); }
  std::unique_ptr<Optimizer> make() const {
    return make_optimizer(config_of(GetParam().first, GetParam().second), layout_.flat_elements());
  }

  FlatLayout layout_ = layout_with_gaps();
  std::vector<float> values_;
  std::vector<float> gradient_;
};

TEST_P(EachOptimizer, StepsAndHashesInOnePassAsInThree) {
  const std::unique_ptr<Optimizer> one = make();
  const std::unique_ptr<Optimizer> three = make();
  std::vector<float> in_one_pass = values_;
  std::vector<float> in_three = values_;
  for (const double factor : {1.0, 0.25001, 0.7}) {
    const std::string hash = step_and_hash(*one, layout_, in_one_pass, gradient_, 0.01, factor);
    std::vector<float> clipped = gradient_;
    for (float& value : clipped) value = static_cast<float>(static_cast<double>(value) * factor);
    three->begin_step(0.01, 1.0);
    three->step_elements(0, in_three, clipped);
    EXPECT_EQ(bits(in_one_pass), bits(in_three));
    EXPECT_EQ(hash, elements_hash(layout_, in_three));
  }
  EXPECT_NE(bits(in_one_pass), bits(values_));
  EXPECT_EQ(one->steps(), 3);
  for (std::size_t i = 0; i < one->state().size(); ++i) {
    EXPECT_EQ(bits(one->state()[i].values.span()), bits(three->state()[i].values.span()));
  }
}

TEST_P(EachOptimizer, ChangesNothingWhereItRefusesItsNumbers) {
  const std::unique_ptr<Optimizer> optimizer = make();
  optimizer->begin_step(0.01, 1.0);
  const Json scalars = optimizer->scalars();
  const std::unique_ptr<Optimizer> other = make();
  for (const auto& [name, number] : scalars.items()) {
    Json without = scalars;
    without.erase(name);
    EXPECT_THROW(other->restore_scalars(without, "o.safetensors"), CheckError) << name;
    for (const Json& wrong : {Json("1"), Json(-1), Json(1.5), Json(), Json(1e300), Json::array({1})}) {
      Json changed = scalars;
      changed[name] = wrong;
      EXPECT_THROW(other->restore_scalars(changed, "o.safetensors"), CheckError) << name << " " << wrong;
      EXPECT_EQ(other->scalars(), make()->scalars()) << name << " " << wrong;
      EXPECT_EQ(other->steps(), 0) << name << " " << wrong;
    }
  }
  EXPECT_THROW(other->restore_scalars(Json(), "o.safetensors"), CheckError);
  other->restore_scalars(scalars, "o.safetensors");
  EXPECT_EQ(other->scalars(), scalars);
  EXPECT_EQ(other->steps(), 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EachOptimizer,
                         testing::Values(std::pair("sgd", 0.0), std::pair("sgd", 0.9), std::pair("adamw", 0.0)),
                         [](const auto& one) { return one.param.first + (one.param.second > 0.0 ? "_momentum" : ""); });

// Of a gap 0 / (0 + 0) would be made, which is NaN.
TEST(AdamW, LeavesTheGapsOfTheLayoutAlone) {
  const FlatLayout layout = layout_with_gaps();
  OptimizerConfig config = config_of("adamw", 0.0);
  config.epsilon = 0.0;
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(config, layout.flat_elements());
  std::vector<float> values(static_cast<std::size_t>(layout.flat_elements()), 0.0F);
  std::vector<float> gradient(values.size(), 1.0F);
  std::fill_n(gradient.begin() + 3, layout.places()[1].offset - 3, 0.0F);
  step_and_hash(*optimizer, layout, values, gradient, 0.01, 1.0);
  for (std::size_t i = 3; i < static_cast<std::size_t>(layout.places()[1].offset); ++i) EXPECT_EQ(values[i], 0.0F);
  EXPECT_LT(values[0], 0.0F);
}

}  // namespace
}  // namespace samegrad
