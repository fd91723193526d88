// Saving on one rank and loading on all between steps, as a program with torch::save does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <sstream>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// Dense layers with BatchNorm between.
struct NormedImpl : torch::nn::Module {
  NormedImpl()
      : a(register_module("a", torch::nn::Linear(4, 3))),
        norm(register_module("norm", torch::nn::BatchNorm1d(3))),
        b(register_module("b", torch::nn::Linear(3, 2))) {
    fill(*this);
  }
  at::Tensor forward(const at::Tensor& x) { return b->forward(norm->forward(a->forward(x))); }
  torch::nn::Linear a{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Linear b{nullptr};
};
TORCH_MODULE(Normed);

TEST(AModelSavedOnRank0, AndLoadedOnAllRanksTrainsOnWithTheSameBits) {
  for (const bool gradient_views : {true, false}) {
    std::string saved;
    on_ranks(2, [&](Communicator& comm) {
      Normed model;
      DistributedDataParallel ddp(model, world_of(comm), {.gradient_as_bucket_view = gradient_views});
      torch::optim::SGD optimizer(model->parameters(), 0.1);
      const auto two_steps = [&] {
        for (int step = 0; step < 2; ++step) {
          optimizer.zero_grad();
          loss_of(ddp.forward(rows(comm.rank(), step))).backward();
          optimizer.step();
        }
        auto window = ddp.window({.count = 1, .atoms = 1});
        window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 9))); });
        ASSERT_TRUE(window.reduce());
        optimizer.step();
      };
      const auto values = [&] {
        std::vector<at::Tensor> all;
        for (const at::Tensor& tensor : model->parameters()) all.push_back(tensor.detach().flatten());
        for (const at::Tensor& tensor : model->buffers()) all.push_back(tensor.to(at::kFloat).flatten());
        return at::cat(all);
      };
      two_steps();
      ddp.sync_buffers();
      if (comm.rank() == 0) {
        std::ostringstream stream;
        torch::save(model, stream);
        saved = stream.str();
      }
      ddp.world().barrier();
      two_steps();
      const at::Tensor expected = values();
      EXPECT_GT(saved.size(), 0U);
      std::istringstream stream(saved);
      torch::load(model, stream);
      two_steps();
      EXPECT_TRUE(at::equal(values(), expected)) << "rank " << comm.rank();
      ddp.check_sync();
    });
  }
}

TEST(AModelThatIsWrapped, CanBeConvertedOnAllRanks) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    const auto train = [&](at::ScalarType dtype) {
      const auto loss = [&] { return loss_of(ddp.forward(rows(comm.rank(), 0).to(dtype))); };
      model->zero_grad();
      loss().backward();
      const at::Tensor mean = model->a->weight.grad().clone();
      EXPECT_EQ(mean.scalar_type(), dtype);
      auto window = ddp.window({.count = 1, .atoms = 1});
      window.backward(loss);
      ASSERT_TRUE(window.reduce());
      EXPECT_EQ(model->a->weight.grad().scalar_type(), dtype);
      EXPECT_TRUE(at::allclose(model->a->weight.grad(), mean, 1e-5, 1e-7));
    };
    train(at::kFloat);
    model->to(at::kDouble);
    train(at::kDouble);
  });
}

TEST(AModelThatIsWrapped, AndConvertedOnOneRankOnlyIsAnErrorOnAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    const at::ScalarType dtype = comm.rank() == 1 ? at::kDouble : at::kFloat;
    model->to(dtype);
    loss_of(ddp.forward(rows(comm.rank(), 0).to(dtype))).backward();
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 0: nothing, rank 1: a.weight is Double [3, 4], trained (it was Float")));
}

}  // namespace
}  // namespace samegrad::testing
