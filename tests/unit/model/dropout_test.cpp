#include "samegrad/model/dropout.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>

namespace samegrad {
namespace {

constexpr DropoutOperation kOperation{1, DropoutPlace::kAttention};

at::Tensor mask(const DropoutKey& key, DropoutOperation operation = kOperation, double probability = 0.3) {
  return Dropout(probability, key)(at::ones({200, 50}), operation);
}

TEST(Dropout, ZeroesTheAskedShareAndScalesTheRestByItsInverse) {
  const at::Tensor values = mask({.seed = 1, .update = 2, .atom = 3});
  const double dropped = (values == 0).sum().item<double>();
  // Five standard deviations of a binomial count.
  EXPECT_NEAR(dropped, 0.3 * 10000, 5 * std::sqrt(10000 * 0.3 * 0.7));
  EXPECT_TRUE(((values == 0) | (values == static_cast<float>(1.0 / 0.7))).all().item<bool>());
}

TEST(Dropout, MaskRepeatsForOneKey) {
  EXPECT_TRUE(mask({.seed = 1, .update = 2, .atom = 3}).equal(mask({.seed = 1, .update = 2, .atom = 3})));
}

TEST(Dropout, MasksOfOtherSeedsUpdatesAtomsAndOperationsAreUnrelated) {
  const at::Tensor base = mask({.seed = 1, .update = 2, .atom = 3}) == 0;
  const auto agreement = [&](const at::Tensor& other) { return (base == (other == 0)).sum().item<double>() / 10000; };
  // Independent masks agree in 0.3^2 + 0.7^2 = 0.58 of the elements; five standard deviations are 0.025.
  EXPECT_NEAR(agreement(mask({.seed = 2, .update = 2, .atom = 3})), 0.58, 0.025);
  EXPECT_NEAR(agreement(mask({.seed = 1ULL << 40 | 1, .update = 2, .atom = 3})), 0.58, 0.025);
  EXPECT_NEAR(agreement(mask({.seed = 1, .update = 3, .atom = 3})), 0.58, 0.025);
  EXPECT_NEAR(agreement(mask({.seed = 1, .update = 2, .atom = 4})), 0.58, 0.025);
  EXPECT_NEAR(agreement(mask({.seed = 1, .update = 2, .atom = 3}, {1, DropoutPlace::kFeedForward})), 0.58, 0.025);
  EXPECT_NEAR(agreement(mask({.seed = 1, .update = 2, .atom = 3}, {0, DropoutPlace::kAttention})), 0.58, 0.025);
}

TEST(Dropout, PartsTakeTheMaskOfTheWhole) {
  const Dropout dropout(0.5, DropoutKey{.seed = 9});
  const at::Tensor whole = dropout(at::ones({103}), kOperation);
  EXPECT_TRUE(dropout(at::ones({37}), kOperation).equal(whole.narrow(0, 0, 37)));
  EXPECT_TRUE(dropout(at::ones({66}), kOperation, /*first_element=*/37).equal(whole.narrow(0, 37, 66)));
}

TEST(Dropout, DropsTheSameElementsInBothPrecisionsAndScalesInTheOwnOne) {
  const Dropout dropout(0.3, DropoutKey{.seed = 9});
  const at::Tensor single = dropout(at::ones({64}), kOperation);
  const at::Tensor twice = dropout(at::ones({64}, at::kDouble), kOperation);
  EXPECT_TRUE((twice == 0).equal(single == 0));
  EXPECT_TRUE(((twice == 0) | (twice == 1.0 / 0.7)).all().item<bool>());
}

TEST(Dropout, IsTheIdentityWithoutAKeyOrWithProbabilityZero) {
  const at::Tensor x = at::ones({8});
  EXPECT_TRUE(Dropout(0.5, std::nullopt)(x, kOperation).is_same(x));
  EXPECT_TRUE(Dropout(0.0, DropoutKey{})(x, kOperation).is_same(x));
}

TEST(Dropout, MultipliesTheGradientByTheSameMask) {
  const at::Tensor x = at::ones({500}).requires_grad_();
  const at::Tensor y = Dropout(0.5, DropoutKey{.seed = 4})(x, kOperation);
  y.sum().backward();
  EXPECT_TRUE(x.grad().equal(y.detach()));
}

}  // namespace
}  // namespace samegrad
