// The exchange of one bucket: dtypes, the ranks of a mean, and a backend's own all-reduce.
#include "samegrad/ddp/bucket_exchange.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>

#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/native_all_reduce.h"
#include "samegrad/comm/status_image.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/ddp/gradient_buckets.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using testing::run_ranks;

constexpr CallLabel kLabel{"gradient", 1};

/// Every rank's tensor after the exchange; rank r begins with `values` * (r + 1).
std::vector<at::Tensor> exchanged(int world_size, const at::Tensor& values, const ExchangeRule& rule) {
  std::vector<at::Tensor> results(static_cast<std::size_t>(world_size));
  EXPECT_EQ(run_ranks(world_size,
                      [&](Communicator& comm) {
                        at::Tensor mine = values * (comm.rank() + 1);
                        exchange_gradient(comm, mine, rule, kLabel);
                        results[static_cast<std::size_t>(comm.rank())] = mine;
                      }),
            testing::nothing_thrown(world_size));
  return results;
}

TEST(BucketExchange, IsTheMeanOrSumInEachDtypeWithTheSameBitsOnAllRanks) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kComplexFloat}) {
    const at::Tensor values = at::arange(1, 8, at::kFloat).to(dtype);
    for (const at::Tensor& mean : exchanged(3, values, {})) EXPECT_TRUE(at::equal(mean, values * 2)) << dtype;
    for (const at::Tensor& sum : exchanged(3, values, {.reduction = GradientReduction::kSum})) {
      EXPECT_TRUE(at::equal(sum, values * 6)) << dtype;
    }
  }
}

TEST(BucketExchange, ABucketInSharedMemoryGoesInOneCall) {
  std::vector<StatusImage> images(3);
  EXPECT_EQ(run_ranks(3,
                      [&](Communicator& comm) {
                        StatusImage& image = images[static_cast<std::size_t>(comm.rank())];
                        dynamic_cast<KeepsStatus&>(comm).status().place_in_memory(image);
                        const std::vector<NamedTensor> parameters{{"weight", at::ones({70'001})}};
                        const std::vector<BucketParameter> places{{"weight", at::kFloat, 70'001}};
                        const auto layout = lay_out_buckets(places, {1 << 20, 1 << 20});
                        GradientBuckets buckets(parameters, layout, gradient_memory_of(comm).get());
                        at::Tensor& bucket = buckets.buckets()[0].flat;
                        EXPECT_TRUE(at::equal(bucket, at::zeros_like(bucket)));
                        bucket.fill_(comm.rank() + 1);
                        exchange_gradient(comm, bucket, {}, kLabel);
                        EXPECT_TRUE(at::equal(buckets.view(0), at::full({70'001}, 2.0)));
                        EXPECT_EQ(read_status_image(image, comm.rank()).status.value().collectives, 1);
                      }),
            testing::nothing_thrown(3));
}

TEST(BucketExchange, RoundsHalfPrecisionOnceAfterTheSum) {
  // 256 + 2 is no bfloat16; twice 256 + 1 rounded on the way would stay 256.
  const at::Tensor values = at::full({1}, 1.0, at::kBFloat16);
  std::vector<at::Tensor> results(3);
  EXPECT_EQ(run_ranks(3,
                      [&](Communicator& comm) {
                        at::Tensor mine = comm.rank() == 0 ? values * 256 : values.clone();
                        exchange_gradient(comm, mine, {.reduction = GradientReduction::kSum}, kLabel);
                        results[static_cast<std::size_t>(comm.rank())] = mine;
                      }),
            testing::nothing_thrown(3));
  EXPECT_EQ(results[0].item<float>(), 258.0F);
}

TEST(BucketExchange, AMeanCanBeOverFewerRanks) {
  const at::Tensor values = at::ones({3});
  EXPECT_TRUE(at::equal(exchanged(3, values, {.mean_over = 2})[1], values * 3));
}

TEST(BucketExchange, ADtypeThatCannotBeExchangedIsRefusedByName) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          at::Tensor mine = at::ones({2}, at::kInt);
                          exchange_gradient(comm, mine, {}, kLabel);
                        }),
              ::testing::Each(::testing::HasSubstr("dtype Int")));
}

/// A rank with an all-reduce of its own, which counts its calls.
class NativeRank final : public Communicator, public NativeAllReduce {
 public:
  explicit NativeRank(Communicator& inner) : inner_(&inner) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string_view backend() const override { return "native"; }
  void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override {
    inner_->all_to_all(send, recv, label);
  }
  void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override {
    inner_->all_gather(send, recv, label);
  }
  void broadcast(std::span<std::byte> data, int root, const CallLabel& label) override {
    inner_->broadcast(data, root, label);
  }
  void barrier(const CallLabel& label) override { inner_->barrier(label); }
  void leave(std::string_view reason) override { inner_->leave(reason); }
  void all_reduce_sum(std::span<float> values, const CallLabel& label) override {
    ++native_calls;
    at::Tensor all = at::from_blob(values.data(), {std::ssize(values)});
    exchange_gradient(*inner_, all, {.reduction = GradientReduction::kSum}, label);
  }
  void all_reduce_sum(std::span<double> /*values*/, const CallLabel& /*label*/) override { ++native_calls; }

  int native_calls = 0;

 private:
  Communicator* inner_;
};

TEST(BucketExchange, NativeOrderLeavesTheSumToTheBackendAndDividesOnce) {
  for (const ReductionOrder order : {ReductionOrder::kNative, ReductionOrder::kCanonical}) {
    EXPECT_EQ(run_ranks(2,
                        [&](Communicator& inner) {
                          NativeRank comm(inner);
                          at::Tensor mine = at::full({5}, 1.0 + comm.rank());
                          exchange_gradient(comm, mine, {.order = order}, kLabel);
                          EXPECT_TRUE(at::equal(mine, at::full({5}, 1.5)));
                          EXPECT_EQ(comm.native_calls, order == ReductionOrder::kNative ? 1 : 0);
                        }),
              testing::nothing_thrown(2));
  }
}

TEST(NativeOrder, KeepsTheStridesOfAParameter) {
  EXPECT_EQ(run_ranks(2,
                      [&](Communicator& inner) {
                        NativeRank comm(inner);
                        torch::nn::Conv2d layer(torch::nn::Conv2dOptions(2, 3, 2).bias(false));
                        layer->weight.set_data(at::ones({3, 2, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast));
                        DistributedDataParallel ddp(layer, World(comm, kLabel.timeout),
                                                    {.order = ReductionOrder::kNative});
                        const at::Tensor image = at::arange(8, at::kFloat).view({1, 2, 2, 2}) * (1 + comm.rank());
                        ddp.forward(image).sum().backward();
                        EXPECT_EQ(comm.native_calls, 1);
                        EXPECT_EQ(layer->weight.grad().strides(), layer->weight.strides());
                        const at::Tensor mean = at::arange(8, at::kFloat).view({1, 2, 2, 2}) * 1.5;
                        EXPECT_TRUE(at::equal(layer->weight.grad(), mean.expand({3, 2, 2, 2})));
                      }),
            testing::nothing_thrown(2));
}

}  // namespace
}  // namespace samegrad
