// pytorch/pytorch#13711, pytorch-image-models#110, mmpose#998: each rank evaluated with running statistics of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include <filesystem>

#include "samegrad/checkpoint/module_checkpoint.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

struct NormImpl : torch::nn::Module {
  NormImpl() : norm(register_module("norm", torch::nn::BatchNorm1d(4))) {}
  at::Tensor forward(const at::Tensor& x) { return norm->forward(x); }
  torch::nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Norm);

at::Tensor score(Norm& model) {
  const at::NoGradGuard no_grad;
  return model->forward(rows(0, 77));
}

TEST(BatchNormAtEvaluation, IsOneSetOnAllRanksAndTheSavedFilesToo) {
  for (const bool broadcast : {true, false}) {
    const auto folder = std::filesystem::path(::testing::TempDir()) / "samegrad_batch_norm_regression";
    std::filesystem::remove_all(folder);
    std::vector<at::Tensor> scores(2);
    ::testing::internal::CaptureStderr();
    on_ranks(2, [&](Communicator& comm) {
      Norm model;
      DistributedDataParallel ddp(model, world_of(comm), {.broadcast_buffers = broadcast});
      for (int step = 0; step < 3; ++step) {
        model->zero_grad();
        loss_of(ddp.forward(rows(comm.rank(), step) * (1 + 5 * comm.rank()) + 20 * comm.rank())).backward();
      }
      ddp.eval();  // right after the last step
      scores[static_cast<std::size_t>(comm.rank())] = score(model);
      checkpoint::Training training{.model = *model};
      checkpoint::save(ddp.world(), folder, training, {.update = 3});
    });
    EXPECT_TRUE(at::equal(scores[0], scores[1]));
    if (!broadcast) {
      EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("rank 0's before evaluation"));
    } else {
      ::testing::internal::GetCapturedStderr();
    }
    on_ranks(1, [&](Communicator& comm) {
      Norm model;
      checkpoint::Training training{.model = *model};
      ASSERT_TRUE(checkpoint::load_latest(World(comm), folder, training).has_value());
      model->eval();
      EXPECT_TRUE(at::equal(score(model), scores[0]));
    });
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace samegrad::testing
