// A recomputed part has the gradients of a plain call, and keeps its inputs only.
#include "samegrad/ddp/recompute.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "samegrad/base/error.h"
#include "tests/unit/ddp/counting_allocator.h"

namespace samegrad {
namespace {

/// A small network of `layers` residual parts with dropout from the default generator.
struct Stack {
  explicit Stack(int layers) {
    const at::Generator random = at::detail::createCPUGenerator(3);
    for (int i = 0; i < layers; ++i) {
      first.push_back((at::randn({16, 8}, random) / 4).requires_grad_());
      second.push_back((at::randn({8, 16}, random) / 4).requires_grad_());
    }
  }

  at::Tensor layer(std::size_t i, const at::Tensor& x) const {
    return x + at::dropout(at::gelu(at::linear(x, first[i])), 0.25, /*train=*/true).mm(second[i].t());
  }
  at::Tensor forward(at::Tensor x, bool recomputed) const {
    for (std::size_t i = 0; i < first.size(); ++i) {
      const auto part = [this, i](const at::Tensor& in) { return layer(i, in); };
      x = recomputed ? recompute(part, x) : part(x);
    }
    return x;
  }
  /// Every gradient after one backward, in one tensor; the generator's next number with them.
  at::Tensor gradients(const at::Tensor& input, bool recomputed) {
    at::manual_seed(5);
    const at::Tensor x = input.detach().requires_grad_();
    forward(x, recomputed).pow(2).sum().backward();
    std::vector<at::Tensor> all = {x.grad().flatten(), at::randn({1})};
    for (const std::vector<at::Tensor>* parameters : {&first, &second}) {
      for (const at::Tensor& parameter : *parameters) {
        all.push_back(parameter.grad().flatten());
        parameter.mutable_grad().reset();
      }
    }
    return at::cat(all);
  }

  std::vector<at::Tensor> first, second;
};

at::Tensor some_input() { return at::randn({5, 8}, at::detail::createCPUGenerator(4)); }

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Recompute, GradientsHaveTheBitsOfThePlainCallAndTheGeneratorGoesOnAlike) {
  Stack stack(3);
  EXPECT_TRUE(at::equal(stack.gradients(some_input(), true), stack.gradients(some_input(), false)));
}

TEST(Recompute, AnotherDropoutMaskWouldBeSeen) {
  Stack stack(1);
  at::manual_seed(5);
  const at::Tensor kept = stack.layer(0, some_input());
  EXPECT_FALSE(at::equal(kept, stack.layer(0, some_input())));
}

TEST(Recompute, PartsInsidePartsAndRepeatedBackwardsHaveTheSameBits) {
  Stack stack(4);
  const auto gradients = [&](bool recomputed) {
    at::manual_seed(5);
    const at::Tensor x = some_input().requires_grad_();
    const auto all = [&](const at::Tensor& in) { return stack.forward(in, recomputed); };
    const at::Tensor loss = (recomputed ? recompute(all, x) : all(x)).sum();
    loss.backward({}, /*retain_graph=*/true);
    loss.backward();
    return x.grad();
  };
  EXPECT_TRUE(at::equal(gradients(true), gradients(false)));
}

TEST(Recompute, SeveralInputsAndOutputsOfAnyTypeWork) {
  const auto part = [](const at::Tensor& x, const at::Tensor& ids, const at::Tensor& fixed) {
    return std::vector<at::Tensor>{x.index_select(0, ids) * fixed, ids + 1, x.sin().sum(), fixed * 2};
  };
  const auto gradient = [&](bool recomputed) {
    const at::Tensor x = some_input().requires_grad_();
    const at::Tensor ids = at::arange(3);
    const at::Tensor fixed = at::full({3, 8}, 0.5);
    const std::vector<at::Tensor> outputs = recomputed ? recompute(part, x, ids, fixed) : part(x, ids, fixed);
    EXPECT_TRUE(at::equal(outputs[1], ids + 1));
    EXPECT_FALSE(outputs[1].requires_grad());
    (outputs[0].sum() * 2 + outputs[2]).backward();
    EXPECT_FALSE(fixed.grad().defined());
    return x.grad();
  };
  EXPECT_TRUE(at::equal(gradient(true), gradient(false)));
}

TEST(Recompute, ParametersGetGradientsWhereNoInputNeedsOne) {
  const at::Tensor table = at::randn({4, 3}).requires_grad_();
  recompute([&](const at::Tensor& ids) { return at::embedding(table, ids); }, at::arange(3)).sum().backward();
  EXPECT_TRUE(at::equal(table.grad(), at::tensor({1., 1., 1., 0.}, at::kFloat).unsqueeze(1).expand({4, 3})));
}

TEST(Recompute, WithGradientsOffItIsAPlainCall) {
  const at::NoGradGuard no_gradient;
  int calls = 0;
  const at::Tensor y = recompute(
      [&](const at::Tensor& x) {
        ++calls;
        return x * 2;
      },
      at::ones({2}).requires_grad_());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(y.requires_grad());
}

TEST(Recompute, BuffersChangeOnce) {
  const auto train = [](bool recomputed) {
    const at::Tensor mean = at::zeros({8});
    const at::Tensor variance = at::ones({8});
    const auto part = [=](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
      return {at::batch_norm(in[0], {}, {}, mean, variance, true, 0.1, 1e-5, false) + mean};
    };
    const at::Tensor x = some_input().requires_grad_();
    const at::Tensor y = recomputed ? recompute_all(part, {x}, {.buffers = {mean, variance}})[0] : part({x})[0];
    y.pow(3).sum().backward();
    return at::cat({mean, variance, x.grad().flatten()});
  };
  EXPECT_TRUE(at::equal(train(true), train(false)));
}

TEST(Recompute, WhatForwardKeepsDoesNotGrowWithWhatAPartComputes) {
  const std::int64_t& live = CountingAllocator::installed().live;
  const Stack stack(12);
  const at::Tensor x = some_input();
  const auto kept = [&](bool recomputed) {
    const std::int64_t before = live;
    const at::Tensor y = stack.forward(x, recomputed);
    return live - before;
  };
  // A layer keeps three tensors [5,16] and a mask; a recomputed one its input [5,8] and a generator's state.
  const std::int64_t state_bytes = static_cast<std::int64_t>(at::detail::getDefaultCPUGenerator().get_state().nbytes());
  const std::int64_t recomputed = kept(true) - 12 * state_bytes;
  EXPECT_GT(kept(false), 12 * 3 * 5 * 16 * 4);
  EXPECT_LT(recomputed, 12 * 2 * 5 * 8 * 4);
  EXPECT_GT(recomputed, 11 * 5 * 8 * 4) << "the counter does not see what is kept";
}

TEST(Recompute, WhatCannotBeRightIsRefusedByName) {
  const at::Tensor x = at::ones({2}).requires_grad_();
  const at::Tensor outside = x * 2;
  const at::Tensor captures = recompute([&](const at::Tensor& in) { return in * outside; }, x).sum();
  const std::string captured = refusal([&] { captures.backward(); });
  EXPECT_NE(captured.find("MulBackward"), std::string::npos) << captured;
  int calls = 0;
  const auto changing = [&](const at::Tensor& in) { return at::cat(std::vector<at::Tensor>(++calls, in)); };
  const at::Tensor changes = recompute(changing, x).sum();
  EXPECT_NE(refusal([&] { changes.backward(); }).find("other outputs"), std::string::npos);
  const auto square = [](const at::Tensor& in) { return in * in; };
  EXPECT_NE(refusal([&] { recompute(square, x).sum().backward({}, true, /*create_graph=*/true); }).find("create_graph"),
            std::string::npos);
  EXPECT_NE(refusal([&] { torch::autograd::grad({recompute(square, x).sum()}, {x}); }).find("autograd::grad"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              recompute([](const at::Tensor& in) { return in.detach().add_(1); }, x.detach());
            }).find("in place"),
            std::string::npos);
  EXPECT_NE(refusal([&] { recompute([](const at::Tensor&) { return at::Tensor(); }, x); }).find("undefined"),
            std::string::npos);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const std::string autocast = refusal([&] { recompute(square, x); });
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_NE(autocast.find("autocast"), std::string::npos);
  EXPECT_EQ(refusal([&] { recompute(square, x).sum().backward(); }), "nothing");
}

}  // namespace
}  // namespace samegrad
