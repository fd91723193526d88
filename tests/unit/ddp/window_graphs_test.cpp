// What the graph of an atom may be: parameters unused, tied, sparse, used several times; what it must not do to .grad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "tests/unit/ddp/graph_trial.h"

namespace samegrad {
namespace {

using testing::agree;
using ::testing::AllOf;
using testing::GraphLoss;
using testing::GraphOutcome;
using testing::GraphTrial;
using testing::hashes;
using ::testing::HasSubstr;
using testing::run_split;
using ::testing::StartsWith;
using testing::whole_gradient;
using Leaves = std::vector<at::Tensor>;
using Splits = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t kAtoms = 6;
const Splits kSplits{{6}, {2, 4}, {3, 0, 3}, {1, 4, 1}};

at::Tensor values(at::IntArrayRef sizes, double frequency, at::ScalarType type = at::kFloat) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= size;
  return (at::arange(elements, at::kDouble) * frequency + 0.3).sin().reshape(sizes).to(type);
}

at::Tensor tokens(std::int64_t atom) { return (at::arange(7, at::kLong) * (atom + 2) + atom) % 11; }

at::Tensor rows(const at::Tensor& like, std::int64_t atom) {
  return values({5, 4}, 0.17 + 0.06 * static_cast<double>(atom), at::kDouble).to(like.dtype());
}

/// The same hash for every split, within the tolerance of `whole` (the same loss, dense); the control is a window that
/// lost an atom.
void expect_exact(const GraphTrial& trial, const GraphLoss& whole) {
  const Leaves expected = whole_gradient(trial.values, whole, kAtoms);
  const std::vector<std::string> alone = hashes(run_split(trial, {kAtoms}).front().gradients);
  for (const std::vector<std::int64_t>& split : kSplits) {
    for (const GraphOutcome& outcome : run_split(trial, split)) {
      ASSERT_EQ(outcome.error, "");
      EXPECT_EQ(hashes(outcome.gradients), alone) << split.size() << " ranks";
      EXPECT_TRUE(agree(outcome.gradients, expected));
      EXPECT_FALSE(agree(outcome.gradients, whole_gradient(trial.values, whole, kAtoms, 1))) << "the control";
    }
  }
}

TEST(WindowGraphs, MayUseAModuleSeveralTimes) {
  const GraphLoss loss = [](const Leaves& leaves, std::int64_t atom) {
    at::Tensor hidden = rows(leaves[0], atom);
    for (int layer = 0; layer < 3; ++layer) hidden = at::tanh(at::matmul(hidden, leaves[0]) + leaves[1]);
    return hidden.pow(2).sum();
  };
  expect_exact({{{"weight", values({4, 4}, 0.9)}, {"bias", values({4}, 1.7)}}, loss}, loss);
}

TEST(WindowGraphs, MayTieAnEmbeddingToTheHead) {
  const GraphLoss loss = [](const Leaves& leaves, std::int64_t atom) {
    const at::Tensor hidden = at::tanh(at::embedding(leaves[0], tokens(atom)) + leaves[1]);
    return at::nll_loss(at::log_softmax(at::matmul(hidden, leaves[0].t()), 1), tokens(atom + 1)) * 7;
  };
  expect_exact({{{"token.weight", values({11, 4}, 0.9)}, {"bias", values({4}, 1.7)}}, loss}, loss);
}

GraphLoss embedding_loss(bool sparse, bool tied) {
  return [=](const Leaves& leaves, std::int64_t atom) {
    const at::Tensor found = at::embedding(leaves[0], tokens(atom), -1, /*scale_grad_by_freq=*/false, sparse);
    const at::Tensor hidden = at::tanh(found * leaves[1]);
    return (tied ? at::matmul(hidden, leaves[0].t()) : hidden).pow(2).sum();
  };
}

TEST(WindowGraphs, MayHaveEmbeddingsWithSparseGradients) {
  for (const bool tied : {false, true}) {
    expect_exact({{{"token.weight", values({11, 4}, 0.9)}, {"scale", values({4}, 1.7)}}, embedding_loss(true, tied)},
                 embedding_loss(false, tied));
  }
}

TEST(WindowGraphs, MayMixFloat32AndFloat64) {
  const GraphLoss loss = [](const Leaves& leaves, std::int64_t atom) {
    const at::Tensor hidden = at::tanh(at::matmul(rows(leaves[0], atom), leaves[0]));
    return (hidden.to(at::kDouble) * leaves[1]).pow(2).sum() + (hidden * leaves[2]).sum().to(at::kDouble);
  };
  expect_exact({{{"a", values({4, 4}, 0.9)}, {"b", values({4}, 1.7, at::kDouble)}, {"c", values({4}, 0.5)}}, loss},
               loss);
}

TEST(WindowGraphs, MayHaveParametersInChannelsLast) {
  const GraphLoss loss = [](const Leaves& leaves, std::int64_t atom) {
    const at::Tensor image = values({2, 3, 5, 5}, 0.17 + 0.06 * static_cast<double>(atom), at::kDouble);
    return at::tanh(at::conv2d(image.to(leaves[0].dtype()), leaves[0], leaves[1])).pow(2).sum();
  };
  const at::Tensor kernel = values({4, 3, 2, 2}, 0.9).contiguous(at::MemoryFormat::ChannelsLast);
  expect_exact({{{"kernel", kernel}, {"bias", values({4}, 1.7)}}, loss}, loss);
}

/// Eight parameters; "used" by every atom, "sometimes" by atom 4 alone, the others never.
GraphTrial sometimes_unused(bool find_unused) {
  GraphTrial trial{.values = {{"used", values({4, 4}, 0.9)}, {"sometimes", values({4}, 1.7)}},
                   .loss = [](const Leaves& leaves, std::int64_t atom) {
                     at::Tensor hidden = at::matmul(rows(leaves[0], atom), leaves[0]);
                     if (atom == 4) hidden = hidden * leaves[1];
                     return hidden.pow(2).sum();
                   }};
  trial.options.find_unused_parameters = find_unused;
  return trial;
}

GraphTrial with_never_used(bool find_unused) {
  GraphTrial trial = sometimes_unused(find_unused);
  for (int i = 0; i < 6; ++i) trial.values.push_back({"never." + std::to_string(i), values({2}, 0.4)});
  return trial;
}

TEST(WindowGraphs, MayUseAParameterInOneAtomOfOneRankAlone) {
  for (const bool find_unused : {false, true}) {
    const GraphTrial trial = sometimes_unused(find_unused);
    expect_exact(trial, trial.loss);
  }
}

TEST(WindowGraphs, ThatLeaveParametersUnusedOnAllRanksAreAnErrorOnAllRanksNamingFive) {
  for (const std::vector<std::int64_t>& split : kSplits) {
    for (const GraphOutcome& outcome : run_split(with_never_used(false), split)) {
      EXPECT_THAT(
          outcome.error,
          AllOf(HasSubstr("update 3: no atom of any rank has a gradient for never.0, never.1, never.2, never.3, "
                          "never.4 and 1 more;"),
                HasSubstr("find_unused_parameters")));
      EXPECT_EQ(hashes(outcome.gradients), std::vector<std::string>(8)) << "no gradient stays";
    }
  }
}

TEST(WindowGraphs, ThatLeaveParametersUnusedKeepTheirGradientsUndefinedWhereThatIsAllowed) {
  expect_exact(with_never_used(true), with_never_used(true).loss);
  for (const GraphOutcome& outcome : run_split(with_never_used(true), {2, 4})) {
    for (std::size_t i = 0; i < outcome.gradients.size(); ++i) EXPECT_EQ(outcome.gradients[i].defined(), i < 2) << i;
  }
}

TEST(WindowGraphs, AreLookedThroughForUnusedParametersWithoutAnExchangeMore) {
  const GraphOutcome outcome = run_split(with_never_used(true), {2, 4}).front();
  int calls = 0;
  for (const auto& [name, count] : outcome.calls) {
    if (!name.starts_with("gradient/")) calls += count;
  }
  EXPECT_EQ(calls, 3) << "agreement, failures, loss sums";
}

// What replaces .grad would lose the atom's gradient in silence.
TEST(WindowGraphs, ThatRunBackwardThemselvesAreAnErrorOnAllRanksNamingTheParameter) {
  const GraphTrial plain = sometimes_unused(false);
  const GraphLoss own_backward = [&](const Leaves& leaves, std::int64_t atom) {
    const at::Tensor loss = plain.loss(leaves, atom);
    if (atom == 4) loss.backward({}, /*retain_graph=*/true, /*create_graph=*/true);
    return loss;
  };
  for (const GraphOutcome& outcome : run_split({plain.values, own_backward}, {2, 4})) {
    EXPECT_THAT(outcome.error, StartsWith("[window] rank 1, update 3: used has a gradient before the window's own"));
  }
}

TEST(WindowGraphs, ThatSetGradientsBackBeforeTheirForwardChangeNothing) {
  const GraphTrial plain = sometimes_unused(false);
  const GraphLoss zero_grad = [&](const Leaves& leaves, std::int64_t atom) {
    for (const at::Tensor& leaf : leaves) leaf.mutable_grad().reset();
    return plain.loss(leaves, atom);
  };
  const GraphOutcome outcome = run_split({plain.values, zero_grad}, {2, 4}).front();
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(hashes(outcome.gradients), hashes(run_split(plain, {2, 4}).front().gradients));
}

TEST(WindowGraphs, WithOneGradientOfMinusZeroHavePlusZero) {
  const GraphTrial trial{{{"weight", values({3}, 0.2)}},
                         [](const Leaves& leaves, std::int64_t) { return (leaves[0] * at::full({3}, -0.0F)).sum(); }};
  const at::Tensor gradient = run_split(trial, {1}).front().gradients[0];
  EXPECT_FALSE(at::signbit(gradient).any().item<bool>()) << "0 + -0 is +0";
}

TEST(WindowGraphs, WhoseHooksReplaceAGradientAreAnErrorOnAllRanksNamingTheParameter) {
  struct Reset : torch::autograd::PostAccumulateGradHook {
    void operator()(const at::Tensor& tensor) override { tensor.mutable_grad().reset(); }
  };
  const GraphTrial plain = sometimes_unused(false);
  const GraphLoss resets = [&](const Leaves& leaves, std::int64_t atom) {
    if (atom == 4) torch::autograd::impl::set_post_acc_grad_hooks(leaves[0], std::make_unique<Reset>());
    return plain.loss(leaves, atom);
  };
  for (const GraphOutcome& outcome : run_split({plain.values, resets}, {2, 4})) {
    EXPECT_THAT(outcome.error, StartsWith("[window] update 3, atom 4: the .grad of parameter used was replaced"));
  }
}

}  // namespace
}  // namespace samegrad
