// Communication hooks: a user's own exchange, and the library's examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>
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

TEST(CommHooks, MayReturnTheirResultInAnotherShapeAndOrderOfMemory) {
  const CommHook hook = [](GradBucket& bucket, const World& world) {
    return mean_hook(bucket, world).view({2, -1}).t().contiguous().t();
  };
  EXPECT_TRUE(at::equal(gradient_under(hook), gradient_under(nullptr)));
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

/// A table of words, with sparse gradients or not.
at::Tensor table_gradient(bool sparse, const CommHook& hook) {
  at::Tensor gradient;
  on_ranks(2, [&](Communicator& comm) {
    torch::nn::Embedding table(torch::nn::EmbeddingOptions(6, 3).sparse(sparse));
    fill(*table);
    DistributedDataParallel ddp(table, world_of(comm));
    ddp.register_comm_hook(hook);
    loss_of(ddp.forward(at::tensor({1 + comm.rank(), 3, 3}, at::kLong))).backward();
    if (comm.rank() == 0) gradient = table->weight.grad().clone();
  });
  return gradient;
}

TEST(CommHooks, GetASparseGradientAsADenseOne) {
  const CommHook hook = [](GradBucket& bucket, const World& world) {
    EXPECT_EQ(bucket.gradients.at(0).layout(), at::kStrided);
    EXPECT_EQ(bucket.gradients.at(0).sizes(), (std::vector<std::int64_t>{6, 3}));
    return mean_hook(bucket, world);
  };
  const at::Tensor sparse = table_gradient(/*sparse=*/true, hook);
  EXPECT_GT(sparse.abs().sum().item<float>(), 0.0F);
  EXPECT_TRUE(at::equal(sparse, table_gradient(/*sparse=*/false, hook)));
}

TEST(CommHooks, SeeGradientsInTheStridesOfTheirParameters) {
  std::vector<at::Tensor> gradients;
  for (const bool channels_last : {false, true}) {
    on_ranks(2, [&](Communicator& comm) {
      torch::nn::Conv2d layer(torch::nn::Conv2dOptions(2, 3, 2));
      fill(*layer);
      if (channels_last) layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
      DistributedDataParallel ddp(layer, world_of(comm));
      ddp.register_comm_hook([&](GradBucket& bucket, const World& world) {
        for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
          if (bucket.parameters[i] == "weight") {
            EXPECT_EQ(bucket.gradients[i].strides(), layer->weight.strides());
          }
        }
        return mean_hook(bucket, world);
      });
      loss_of(ddp.forward(rows(comm.rank(), 0, 1, 18).view({1, 2, 3, 3}))).backward();
      EXPECT_EQ(layer->weight.grad().strides(), layer->weight.strides());
      if (comm.rank() == 0) gradients.push_back(layer->weight.grad().contiguous());
    });
  }
  EXPECT_TRUE(at::allclose(gradients[0], gradients[1], 1e-5, 1e-7));
}

TEST(CommHooks, CompressBothPartsOfComplexNumbers) {
  struct Phase : torch::nn::Module {
    Phase() : w(register_parameter("w", at::ones({5}, at::kComplexFloat))) {}
    at::Tensor forward(double re, double im) { return at::real(w * c10::complex<float>(re, im)).sum(); }
    at::Tensor w;
  };
  for (const auto& hook : {fp16_compress_hook, bf16_compress_hook}) {
    on_ranks(2, [&](Communicator& comm) {
      auto model = std::make_shared<Phase>();
      DistributedDataParallel ddp(model, world_of(comm));
      ddp.register_comm_hook(hook);
      ddp.forward(1.0 + comm.rank(), 0.25 + comm.rank()).backward();
      const at::Tensor expected = at::full({5}, c10::complex<double>(1.5, -0.75), at::kComplexFloat);
      EXPECT_TRUE(at::equal(model->w.grad(), expected)) << model->w.grad();  // exact in 8 bits
    });
  }
}

}  // namespace
}  // namespace samegrad::testing
