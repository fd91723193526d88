// DistributedDataParallel outside windows: what backward leaves in .grad.
#include "samegrad/ddp/distributed_data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include "samegrad/base/error.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

/// The mean over `world_size` ranks of each parameter's gradient, by autograd in one process, in float64.
std::vector<at::Tensor> mean_gradients(int world_size, int step) {
  TwoLayers model;
  model->to(at::kDouble);
  at::Tensor total = at::zeros({}, at::kDouble);
  for (int rank = 0; rank < world_size; ++rank) {
    total = total + loss_of(model->forward(rows(rank, step).to(at::kDouble))) / world_size;
  }
  total.backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model->parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

/// Whether each gradient is `factor` times the expected one.
bool gradients_are(const torch::nn::Module& model, const std::vector<at::Tensor>& expected, double factor = 1.0) {
  const std::vector<at::Tensor> parameters = model.parameters();
  if (parameters.size() != expected.size()) return false;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].grad().defined()) return false;
    if (!at::allclose(parameters[i].grad().to(at::kDouble), expected[i] * factor, 1e-4, 1e-6)) return false;
  }
  return true;
}

struct Variant {
  int world_size;
  DistributedDataParallelOptions options;
};

class EveryVariant : public ::testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(
    Variants, EveryVariant,
    ::testing::Values(Variant{1, {}}, Variant{2, {}}, Variant{3, {}}, Variant{4, {}},
                      Variant{3, {.gradient_as_bucket_view = false}},
                      Variant{3, {.bucket_cap_mb = 1e-5, .first_bucket_mb = 1e-5}},
                      Variant{3, {.bucket_cap_mb = 1e-5, .first_bucket_mb = 1e-5, .overlap = Overlap::kOn}},
                      Variant{2, {.static_graph = true, .bucket_cap_mb = 1e-5, .overlap = Overlap::kOn}},
                      Variant{3, {.bucket_cap_mb = 1e-5, .delay_all_reduce = {"a.weight"}}}));

TEST_P(EveryVariant, BackwardEndsWithTheMeanOverRanksWithGradientsNewZeroedOrUnset) {
  const auto& [world_size, options] = GetParam();
  on_ranks(world_size, [&](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm), options);
    for (int step = 0; step < 3; ++step) {
      for (at::Tensor& parameter : model->parameters()) {
        if (step == 1) parameter.mutable_grad().zero_();
        if (step == 2) parameter.mutable_grad().reset();
      }
      loss_of(ddp.forward(rows(comm.rank(), step))).backward();
      EXPECT_TRUE(gradients_are(*model, mean_gradients(world_size, step))) << "step " << step;
      // The control: this comparison sees a sum in the place of a mean.
      EXPECT_EQ(gradients_are(*model, mean_gradients(world_size, step), world_size), world_size == 1);
    }
  });
}

TEST(DistributedDataParallel, AGradientThatIsNotResetAddsUpAsInOneProcess) {
  for (const GradientReduction reduction : {GradientReduction::kMean, GradientReduction::kSum}) {
    on_ranks(3, [&](Communicator& comm) {
      Branches model;
      DistributedDataParallel ddp(model, world_of(comm), {.reduction = reduction, .find_unused_parameters = true});
      const double factor = reduction == GradientReduction::kSum ? 3.0 : 1.0;
      ddp.forward(1.0 + comm.rank(), 4.0).backward();  // p: 1, 2, 3
      EXPECT_FLOAT_EQ(model->p.grad().item<float>(), static_cast<float>(2.0 * factor));
      ddp.forward(10.0, 0.0).backward();  // q is not used, and keeps what it has
      EXPECT_FLOAT_EQ(model->p.grad().item<float>(), static_cast<float>(12.0 * factor));
      EXPECT_FLOAT_EQ(model->q.grad().item<float>(), static_cast<float>(4.0 * factor));
    });
  }
}

TEST(DistributedDataParallel, EveryRankHasTheSameBits) {
  std::vector<at::Tensor> gradients(4);
  on_ranks(4, [&](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    gradients[static_cast<std::size_t>(comm.rank())] = model->a->weight.grad().clone();
  });
  for (const at::Tensor& gradient : gradients) EXPECT_TRUE(at::equal(gradient, gradients[0]));
}

TEST(DistributedDataParallel, WithViewsGradientsAreStoredOnceAndOtherwiseTwice) {
  for (const bool views : {true, false}) {
    on_ranks(2, [&](Communicator& comm) {
      TwoLayers model;
      DistributedDataParallel ddp(model, world_of(comm), {.gradient_as_bucket_view = views});
      EXPECT_EQ(ddp.core().reducer().bucket_bytes(), 0);  // nothing before the first backward
      const void* first = nullptr;
      for (int step = 0; step < 2; ++step) {
        model->zero_grad();
        loss_of(ddp.forward(rows(comm.rank(), step))).backward();
        // a.weight is the last of the bucket; views lie in it at one distance.
        const auto distance = static_cast<const char*>(model->a->weight.grad().const_data_ptr()) -
                              static_cast<const char*>(model->b->bias.grad().const_data_ptr());
        EXPECT_EQ(distance == 64 + 64 + 64, views);  // b.bias, b.weight, a.bias take 64 bytes each
        if (step == 0) first = model->a->weight.grad().const_data_ptr();
        EXPECT_EQ(model->a->weight.grad().const_data_ptr() == first, views || step == 0);
      }
      EXPECT_EQ(ddp.core().reducer().bucket_bytes(), 4 * 64);
    });
  }
}

TEST(DistributedDataParallel, OneRankLeavesTheGradientsThatAutogradMade) {
  on_ranks(1, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(ddp.forward(rows(0, 0))).backward();
    EXPECT_EQ(ddp.core().reducer().bucket_bytes(), 0);
    EXPECT_TRUE(gradients_are(*model, mean_gradients(1, 0)));
  });
}

TEST(DistributedDataParallel, GradientsTakenByAutogradGradAreTheCallersOwn) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    const at::Tensor loss = loss_of(ddp.forward(rows(comm.rank(), 0)));
    const auto before = comm.calls();
    const auto taken = torch::autograd::grad({loss}, {model->a->weight});
    EXPECT_EQ(comm.calls(), before);
    EXPECT_FALSE(model->a->weight.grad().defined());
    EXPECT_TRUE(taken[0].defined());
  });
}

TEST(DistributedDataParallel, AGradientWithAGraphOfItsOwnIsAnErrorOnAllRanks) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoLayers model;
                          DistributedDataParallel ddp(model, world_of(comm));
                          loss_of(ddp.forward(rows(comm.rank(), 0))).backward({}, std::nullopt, /*create_graph=*/true);
                        }),
              Each(HasSubstr("create_graph")));
}

TEST(DistributedDataParallel, TwoWrappedModelsTakeTurns) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers one;
    TwoLayers two;
    DistributedDataParallel ddp_one(one, world_of(comm));
    DistributedDataParallel ddp_two(two, world_of(comm));
    const at::Tensor loss_one = loss_of(ddp_one.forward(rows(comm.rank(), 0)));
    const at::Tensor loss_two = loss_of(ddp_two.forward(rows(comm.rank(), 1)));
    loss_two.backward();
    loss_one.backward();
    EXPECT_TRUE(gradients_are(*one, mean_gradients(2, 0)));
    EXPECT_TRUE(gradients_are(*two, mean_gradients(2, 1)));
  });
}

TEST(DistributedDataParallel, TwoForwardsAndOneBackwardAreOneExchange) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    (loss_of(ddp.forward(rows(comm.rank(), 0))) + loss_of(ddp.forward(rows(comm.rank(), 1)))).backward();
    EXPECT_EQ(comm.calls().at("end of backward/all_gather"), 1);
    const auto first = mean_gradients(2, 0);
    auto both = mean_gradients(2, 1);
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = both[i] + first[i];
    EXPECT_TRUE(gradients_are(*model, both));
  });
}

TEST(DistributedDataParallel, AModelOutlivesItsWrapperAndCanBeWrappedAgain) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    {
      DistributedDataParallel ddp(model, world_of(comm));
      loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    }
    loss_of(model->forward(rows(comm.rank(), 1))).backward();  // by itself: nobody is told
    model->zero_grad();
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 2))).backward();
    EXPECT_TRUE(gradients_are(*model, mean_gradients(2, 2)));
  });
}

/// Passes its argument on; its backward throws.
struct Failing : torch::autograd::Function<Failing> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list&) {
    throw RunError("test", "this rank cannot");
  }
};

TEST(DistributedDataParallel, ARankThatFailsInsideBackwardIsNamedToTheOthers) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    at::Tensor x = rows(comm.rank(), 0).requires_grad_();
    if (comm.rank() == 1) x = Failing::apply(x);
    loss_of(ddp.forward(x)).backward();
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1"));
  EXPECT_THAT(errors[1], HasSubstr("this rank cannot"));
}

TEST(DistributedDataParallel, ABackwardThatFailedOnAllRanksOrWentPastTheWrapperLeavesTheNextOneRight) {
  for (const Overlap overlap : {Overlap::kOff, Overlap::kOn}) {
    on_ranks(2, [&](Communicator& comm) {
      TwoLayers model;
      DistributedDataParallel ddp(model, world_of(comm),
                                  {.bucket_cap_mb = 1e-5, .first_bucket_mb = 1e-5, .overlap = overlap});
      const at::Tensor x = rows(comm.rank(), 0).requires_grad_();
      EXPECT_THROW(loss_of(ddp.forward(Failing::apply(x))).backward(), RunError);
      model->zero_grad();
      loss_of(model->forward(rows(comm.rank(), 0))).backward();
      model->zero_grad();
      loss_of(ddp.forward(rows(comm.rank(), 1))).backward();
      EXPECT_TRUE(gradients_are(*model, mean_gradients(2, 1)));
    });
  }
}

}  // namespace
}  // namespace samegrad::testing
