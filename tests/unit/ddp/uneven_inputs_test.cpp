// join: ranks with unequal numbers of batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/embedding.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

/// One weight, whose gradient is the batch.
struct LineImpl : torch::nn::Module {
  LineImpl() : w(register_parameter("w", at::zeros({1}))), seen(register_buffer("seen", at::zeros({1}))) {}
  at::Tensor forward(double batch) {
    if (is_training()) seen.add_(1);
    return w * batch;
  }
  at::Tensor w;
  at::Tensor seen;
};
TORCH_MODULE(Line);

struct Outcome {
  std::vector<float> gradients;  ///< of this rank's own steps
  float w = 0;
  float seen = 0;
};

/// Rank r has `batches[r]`; a step subtracts the gradient.
std::vector<Outcome> joined(const std::vector<std::vector<double>>& batches, const JoinOptions& options,
                            const DistributedDataParallelOptions& ddp_options = {}) {
  std::vector<Outcome> outcomes(batches.size());
  on_ranks(static_cast<int>(batches.size()), [&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    Line model;
    DistributedDataParallel ddp(model, world_of(comm), ddp_options);
    ddp.join(
        [&] {
          for (const double batch : batches[rank]) {
            model->zero_grad();
            ddp.forward(batch).backward();
            outcomes[rank].gradients.push_back(model->w.grad().item<float>());
            const at::NoGradGuard no_grad;
            model->w.sub_(model->w.grad());
          }
        },
        options);
    outcomes[rank].w = model->w.item<float>();
    outcomes[rank].seen = model->seen.item<float>();
    ddp.check_sync();
  });
  return outcomes;
}

TEST(Join, ARankOutOfDataTakesPartWithZerosAndGetsTheOthersModel) {
  const auto outcomes = joined({{3}, {3, 6, 9}, {6, 3}}, {});
  EXPECT_EQ(outcomes[0].gradients, (std::vector<float>{4}));
  EXPECT_EQ(outcomes[2].gradients, (std::vector<float>{4, 3}));     // (6 + 3) / 3
  EXPECT_EQ(outcomes[1].gradients, (std::vector<float>{4, 3, 3}));  // 9 / 3
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.w, -10.0F);
    EXPECT_EQ(outcome.seen, 3.0F);  // rank 1 worked last
  }
}

TEST(Join, TheMeanCanBeOverTheRanksThatHaveData) {
  const auto outcomes = joined({{3}, {3, 6, 9}, {6, 3}}, {.divide_by_initial_world_size = false});
  EXPECT_EQ(outcomes[1].gradients, (std::vector<float>{4, 4.5, 9}));
  EXPECT_EQ(outcomes[0].w, -17.5F);
}

TEST(Join, ARankWithoutAnyDataAndNoDataAtAllComeToAnEnd) {
  const auto outcomes = joined({{}, {4}}, {});
  EXPECT_EQ(outcomes[0].w, -2.0F);
  EXPECT_EQ(joined({{}, {}}, {})[1].w, 0.0F);
}

TEST(Join, WorksWithoutViewsAndWithUnusedDetection) {
  const auto outcomes = joined({{3}, {3, 6}}, {}, {.find_unused_parameters = true, .gradient_as_bucket_view = false});
  EXPECT_EQ(outcomes[0].w, -6.0F);
}

TEST(Join, CanEndAllByAnErrorInstead) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    Line model;
    DistributedDataParallel ddp(model, world_of(comm));
    ddp.join(
        [&] {
          for (int step = 0; step <= comm.rank(); ++step) ddp.forward(1.0).backward();
        },
        {.throw_on_early_termination = true});
  });
  EXPECT_THAT(errors, Each(HasSubstr("join: rank 0 is out of data")));
}

TEST(Join, AnErrorInTheLoopOfOneRankEndsAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    Line model;
    DistributedDataParallel ddp(model, world_of(comm));
    ddp.join([&] {
      if (comm.rank() == 1) throw RunError("data", "batch 7 cannot be read");
      ddp.forward(1.0).backward();
    });
  });
  EXPECT_THAT(errors, Each(HasSubstr("batch 7 cannot be read")));
}

}  // namespace
}  // namespace samegrad::testing
