// Recomputed parts under DistributedDataParallel, with what the Trainer's guide warns against beside them: detection of
// unused parameters, and broadcast buffers.
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/ddp/recompute.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

/// Two layers with BatchNorm between, in two parts, and one that is never used.
struct PartsImpl : torch::nn::Module {
  explicit PartsImpl(bool recomputes)
      : recomputed(recomputes),
        a(register_module("a", torch::nn::Linear(4, 3))),
        norm(register_module("norm", torch::nn::BatchNorm1d(3))),
        b(register_module("b", torch::nn::Linear(3, 2))),
        unused(register_module("unused", torch::nn::Linear(2, 2))) {
    fill(*this);
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto first = [this](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
      return {at::tanh(norm->forward(a->forward(in[0])))};
    };
    const auto second = [this](const at::Tensor& in) { return b->forward(in); };
    if (!recomputed) return second(first({x})[0]);
    return recompute(second, recompute_all(first, {x}, {.buffers = norm->buffers()})[0]);
  }

  bool recomputed;
  torch::nn::Linear a{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Linear b{nullptr};
  torch::nn::Linear unused{nullptr};
};
TORCH_MODULE(Parts);

/// Parameters and buffers of each rank after three steps of two ranks.
std::vector<at::Tensor> trained(bool recomputed, bool gradient_views) {
  std::vector<at::Tensor> results(2);
  on_ranks(2, [&](Communicator& comm) {
    Parts model(recomputed);
    DistributedDataParallel ddp(model, world_of(comm),
                                {.find_unused_parameters = true, .gradient_as_bucket_view = gradient_views});
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      loss_of(ddp.forward(rows(comm.rank(), step))).backward();
      EXPECT_FALSE(model->unused->weight.grad().defined());
      optimizer.step();
    }
    std::vector<at::Tensor> all;
    for (const at::Tensor& tensor : model->parameters()) all.push_back(tensor.detach().flatten());
    for (const at::Tensor& tensor : model->buffers()) all.push_back(tensor.to(at::kFloat).flatten());
    results[static_cast<std::size_t>(comm.rank())] = at::cat(all);
  });
  return results;
}

TEST(RecomputeUnderDdp, HasTheBitsOfThePlainModelWithUnusedDetectionAndBroadcastBuffers) {
  for (const bool gradient_views : {true, false}) {
    const std::vector<at::Tensor> plain = trained(/*recomputed=*/false, gradient_views);
    const std::vector<at::Tensor> recomputed = trained(/*recomputed=*/true, gradient_views);
    for (std::size_t rank = 0; rank < 2; ++rank) EXPECT_TRUE(at::equal(plain[rank], recomputed[rank])) << rank;
  }
}

TEST(RecomputeUnderDdp, AParameterOfTwoPartsIsExchangedOnceItIsComplete) {
  std::vector<at::Tensor> gradients(2);
  on_ranks(2, [&](Communicator& comm) {
    struct SharedImpl : torch::nn::Module {
      SharedImpl() : a(register_module("a", torch::nn::Linear(4, 4))) { fill(*this); }
      at::Tensor forward(const at::Tensor& x) {
        const auto part = [this](const at::Tensor& in) { return at::tanh(a->forward(in)); };
        return recompute(part, recompute(part, x)) + a->forward(x);
      }
      torch::nn::Linear a{nullptr};
    };
    auto model = std::make_shared<SharedImpl>();
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    at::Tensor mean = at::zeros({4, 4});
    for (int rank = 0; rank < 2; ++rank) {
      SharedImpl alone;
      loss_of(alone.forward(rows(rank, 0))).backward();
      mean += alone.a->weight.grad() / 2;
    }
    EXPECT_TRUE(at::allclose(model->a->weight.grad(), mean, 1e-5, 1e-7));
    gradients[static_cast<std::size_t>(comm.rank())] = model->a->weight.grad().clone();
  });
  EXPECT_TRUE(at::equal(gradients[0], gradients[1]));
}

}  // namespace
}  // namespace samegrad::testing
