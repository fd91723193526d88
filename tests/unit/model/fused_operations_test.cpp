// Each fused operation against the formula in ATen's own operations in double: values and gradients, in both
// precisions, for odd sizes; and by finite differences.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>
#include <string>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/ddp/recompute.h"
#include "tests/unit/ddp/counting_allocator.h"
#include "tests/unit/model/fused_cases.h"

namespace samegrad {
namespace {

struct Size {
  std::int64_t rows;
  std::int64_t width;
};
const Size kSizes[] = {{0, 3}, {1, 1}, {7, 1}, {1, 128}, {7, 3}, {7, 17}, {130, 17}, {550, 8}};

TEST(FusedOperations, HaveTheValuesAndGradientsOfTheFormulaInBothPrecisions) {
  for (const Size& size : kSizes) {
    for (const Operation& operation : operations(size.rows, size.width)) {
      const Outcome expected = outcome(operation.plain, inputs_of(operation, at::kDouble));
      for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
        // A row of few values may have a small variance, which magnifies float's rounding.
        const double tolerance = type == at::kDouble ? 1e-11 : size.width < 16 ? 2e-4 : 2e-5;
        const Outcome fused = outcome(operation.fused, inputs_of(operation, type));
        const std::string what = operation.name + " " + std::to_string(size.rows) + " x " + std::to_string(size.width) +
                                 " " + toString(type);
        EXPECT_LE(difference(fused.output, expected.output), tolerance) << what;
        for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
          EXPECT_LE(difference(fused.gradients[i], expected.gradients[i]), tolerance) << what << " gradient " << i;
        }
      }
    }
  }
}

TEST(FusedOperations, AnotherFormulaWouldBeFound) {
  std::vector<Operation> all = operations(7, 17);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tensors inputs = inputs_of(all[i], at::kDouble);
    const Outcome expected = outcome(all[i].plain, inputs);
    const Formula other = [&](const Tensors& in) {
      Tensors moved = in;
      moved.back() = moved.back() * 1.001;
      return all[i].plain(moved);
    };
    const Outcome wrong = outcome(other, inputs);
    double most = difference(wrong.output, expected.output);
    for (std::size_t g = 0; g < inputs.size(); ++g) {
      most = std::max(most, difference(wrong.gradients[g], expected.gradients[g]));
    }
    EXPECT_GT(most, 1e-5) << all[i].name;
  }
}

TEST(FusedOperations, GradientsAreDerivativesByFiniteDifferences) {
  for (const Operation& operation : operations(7, 5)) {
    const Tensors inputs = inputs_of(operation, at::kDouble);
    const Tensors direction = inputs_of(operation, at::kDouble, /*seed=*/4);
    const Outcome fused = outcome(operation.fused, inputs);
    double expected = 0.0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      expected += (fused.gradients[i] * direction[i].detach()).sum().item<double>();
    }
    const auto value = [&](double step) {
      Tensors moved;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        moved.push_back((inputs[i] + step * direction[i]).detach().contiguous());
      }
      return number(operation.fused(moved)).item<double>();
    };
    constexpr double kStep = 1e-6;
    EXPECT_NEAR((value(kStep) - value(-kStep)) / (2 * kStep), expected, 1e-7 * std::max(1.0, std::abs(expected)))
        << operation.name;
  }
}

TEST(FusedOperations, TakeTensorsThatAreNotContiguous) {
  for (const Operation& operation : operations(6, 6)) {
    if (operation.name == "embed") continue;  // its only inputs are parameters
    const Tensors inputs = inputs_of(operation, at::kDouble);
    const Outcome expected = outcome(operation.fused, inputs);
    const Formula turned = [&](const Tensors& in) {
      Tensors other = in;
      other[0] = in[0].t().contiguous().t();
      return operation.fused(other);
    };
    EXPECT_LE(difference(outcome(turned, inputs).output, expected.output), 1e-13) << operation.name;
    EXPECT_LE(difference(outcome(turned, inputs).gradients[0], expected.gradients[0]), 1e-13) << operation.name;
  }
}

TEST(FusedOperations, RunWithoutGradientsAndRecomputedWithTheSameBits) {
  for (const Operation& operation : operations(7, 17)) {
    const Tensors inputs = inputs_of(operation, at::kFloat);
    const Outcome expected = outcome(operation.fused, inputs);
    {
      const at::NoGradGuard no_grad;
      const at::Tensor output = operation.fused(inputs);
      EXPECT_FALSE(output.requires_grad()) << operation.name;
      EXPECT_TRUE(output.equal(expected.output)) << operation.name;
    }
    const Formula again = [&](const Tensors& in) {
      return recompute_all([&](const Tensors& given) { return Tensors{operation.fused(given)}; }, in)[0];
    };
    const Outcome recomputed = outcome(again, inputs);
    EXPECT_TRUE(recomputed.output.equal(expected.output)) << operation.name;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(recomputed.gradients[i].equal(expected.gradients[i])) << operation.name << " " << i;
    }
  }
}

TEST(FusedOperations, RunBackwardTwiceWithTheSameBits) {
  for (const Operation& operation : operations(7, 17)) {
    const Tensors inputs = inputs_of(operation, at::kFloat);
    const at::Tensor loss = number(operation.fused(inputs));
    const Tensors first = torch::autograd::grad({loss}, inputs, {}, /*retain_graph=*/true);
    const Tensors second = torch::autograd::grad({loss}, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(first[i].equal(second[i])) << operation.name << i;
  }
}

TEST(FusedOperations, RefuseAGradientOfTheGradientByName) {
  for (const Operation& operation : operations(7, 17)) {
    const Tensors inputs = inputs_of(operation, at::kFloat);
    const at::Tensor loss = number(operation.fused(inputs));
    try {
      torch::autograd::grad({loss}, inputs, {}, /*retain_graph=*/true, /*create_graph=*/true);
      ADD_FAILURE() << operation.name << " gave a gradient with a graph";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("no gradient of its gradient"), std::string::npos) << error.what();
    }
  }
}

TEST(HeadSums, LogitsOfManyChoicesNeverExistAtOnce) {
  CountingAllocator& allocator = CountingAllocator::installed();
  constexpr std::int64_t kTokens = 640;
  constexpr std::int64_t kChoices = 1000;
  const PackedBatch batch = batch_of(kTokens, kChoices, false);
  const Tensors inputs{at::ones({kTokens, 4}).requires_grad_(), at::ones({kChoices, 4}).requires_grad_(),
                       at::zeros({kChoices}).requires_grad_()};
  const auto most_taken = [&](std::int64_t most_logits) {
    allocator.most = allocator.live;
    const std::int64_t before = allocator.live;
    gradients_of(head_sums(inputs[0], linear_at(inputs, 1), batch, false, most_logits).loss, inputs);
    return allocator.most - before;
  };
  constexpr std::int64_t kAll = kTokens * kChoices * 4;
  EXPECT_LT(most_taken(kChoices), kAll / 4);
  EXPECT_GT(most_taken(kTokens * kChoices), kAll) << "what has all of them would be seen";
}

TEST(HeadSums, ANanCountsWhereItsTokenIsSupervisedOnly) {
  PackedBatch batch = batch_of(6, 4, false);  // tokens 1 and 4 are not supervised
  const Tensors parameters{at::ones({4, 3}), at::zeros({4})};
  for (const std::int64_t token : {1, 2}) {
    at::Tensor x = at::ones({6, 3});
    x[token][0] = std::numeric_limits<float>::quiet_NaN();
    x.requires_grad_();
    const at::Tensor loss = head_sums(x, linear_at(parameters, 0), batch, false).loss;
    EXPECT_EQ(std::isnan(loss.item<double>()), token == 2);
    loss.backward();
    EXPECT_EQ(x.grad().isnan().any().item<bool>(), token == 2);
  }
}

TEST(HeadSums, LargeLogitsHaveFiniteLossesAndATargetBeyondTheChoicesIsRefused) {
  PackedBatch batch = batch_of(3, 2, false);
  const Tensors parameters{at::tensor({1e4F, -1e4F}).view({2, 1}), at::zeros({2})};
  const at::Tensor x = at::ones({3, 1});
  // Targets 0 and, of token 2, (2 x 5 + 2) mod 2 = 0: then of token 0, made 1, the whole distance.
  EXPECT_EQ(head_sums(x, linear_at(parameters, 0), batch, false).loss.item<double>(), 0.0);
  batch.targets[0] = 1;
  EXPECT_EQ(head_sums(x, linear_at(parameters, 0), batch, false).loss.item<double>(), 2e4);
  batch.targets[0] = 2;
  EXPECT_THROW(head_sums(x, linear_at(parameters, 0), batch, false), InvariantError);
}

TEST(Embed, AnIdBeyondTheTableIsRefused) {
  PackedBatch batch = batch_of(6, 4, false);
  batch.inputs[3] = 5;
  EXPECT_THROW(embed(batch, at::ones({5, 2}), at::ones({9, 2})), InvariantError);
}

}  // namespace
}  // namespace samegrad
