// Communication hooks: a user's own exchange, and the library's examples.
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

/// The gradient of weight a after one backward on rank 0 of two, under `hook`.
at::Tensor gradient_under(const CommHook& hook) {
  at::Tensor gradient;
  on_ranks(2, [&](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    if (hook) ddp.register_comm_hook(hook);
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    if (comm.rank() == 0) gradient = model->a->weight.grad().clone();
  });
  return gradient;
}

TEST(CommHooks, TheLibrarysOwnExchangeAsAHookGivesTheSameBits) {
  EXPECT_TRUE(at::equal(gradient_under(mean_hook), gradient_under(nullptr)));
}

TEST(CommHooks, NothingIsDividedAfterAHook) {
  EXPECT_TRUE(at::allclose(gradient_under(sum_hook), gradient_under(nullptr) * 2));
}

TEST(CommHooks, CompressionHalvesTheBytesAndKeepsItsDigits) {
  const at::Tensor exact = gradient_under(nullptr);
  // Rounded before the sum and after it: two roundings of 2^-9 and 2^-12 of a value.
  EXPECT_TRUE(at::allclose(gradient_under(bf16_compress_hook), exact, /*rtol=*/0x1p-7, /*atol=*/1e-4));
  EXPECT_TRUE(at::allclose(gradient_under(fp16_compress_hook), exact, /*rtol=*/0x1p-9, /*atol=*/1e-5));
  EXPECT_FALSE(at::equal(gradient_under(bf16_compress_hook), exact));
  std::map<bool, std::int64_t> bytes;
  for (const bool compressed : {false, true}) {
    on_ranks(2, [&](Communicator& inner) {
      CountingCommunicator comm(inner);
      TwoLayers model;
      DistributedDataParallel ddp(model, world_of(comm));
      if (compressed) ddp.register_comm_hook(bf16_compress_hook);
      loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
      if (comm.rank() == 0) {
        bytes[compressed] = comm.bytes_to_peers().at(compressed ? "compressed gradient" : "gradient bucket 0");
      }
    });
  }
  EXPECT_EQ(bytes[true] * 2, bytes[false]);
}

TEST(CommHooks, AnOwnOneSeesNamesShapesAndOrder) {
  std::vector<std::string> seen;
  const CommHook hook = [&](GradBucket& bucket, const World& world) {
    if (world.rank() == 0) {
      std::string line = std::to_string(bucket.index) + (bucket.is_last ? " last" : "");
      for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
        line += " " + bucket.parameters[i] + "/" + std::to_string(bucket.gradients[i].dim());
      }
      seen.push_back(line);
    }
    return at::zeros_like(bucket.buffer);
  };
  on_ranks(2, [&](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm), {.bucket_cap_mb = 1.0, .first_bucket_mb = 1e-5});
    ddp.register_comm_hook(hook);
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_EQ(model->a->weight.grad().abs().sum().item<float>(), 0.0F);
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"0 b.bias/1", "1 last b.weight/2 a.bias/1 a.weight/2"}));
}

TEST(CommHooks, AResultOfAnotherSizeAndASecondHookAreRefused) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoLayers model;
                          DistributedDataParallel ddp(model, world_of(comm));
                          ddp.register_comm_hook([](GradBucket&, const World&) { return at::zeros({1}); });
                          EXPECT_THROW(ddp.register_comm_hook(mean_hook), InputError);
                          loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
                        }),
              Each(HasSubstr("communication hook, bucket 0: its result has another size")));
}

TEST(CommHooks, OneThatThrowsOnOneRankEndsAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    ddp.register_comm_hook([](GradBucket& bucket, const World& world) {
      if (world.rank() == 1) throw RunError("hook", "no network here");
      return mean_hook(bucket, world);
    });
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
  });
  EXPECT_THAT(errors, Each(HasSubstr("no network here")));
}

}  // namespace
}  // namespace samegrad::testing
