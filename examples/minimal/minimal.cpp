// Exact data-parallel training: a line through 32 points, 8 atoms an update, on any number of processes the same bits.
#include <samegrad/comm/init.h>
#include <samegrad/ddp/distributed_data_parallel.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cstdio>

int main() {
  const samegrad::World world = samegrad::init();
  torch::manual_seed(1);
  torch::nn::Linear model(1, 1);
  samegrad::DistributedDataParallel ddp(model, world);
  torch::optim::SGD optimizer(model->parameters(), /*lr=*/0.2);
  const auto x = at::linspace(-1, 1, 32).view({8, 4, 1});  // [atom, point, 1]
  const auto y = 3 * x + 0.5;
  const int begin = 8 * world.rank() / world.size();  // this rank's atoms; ranks follow one another
  const int end = 8 * (world.rank() + 1) / world.size();
  for (int update = 1; update <= 50; ++update) {
    auto window = ddp.window({.count = 4 * (end - begin), .atoms = end - begin});
    for (int atom = begin; atom < end; ++atom) {
      window.backward([&] { return (ddp.forward(x[atom]) - y[atom]).square().sum(); });  // a sum, not a mean
    }
    if (!window.reduce()) continue;  // false: all ranks skip this update
    optimizer.step();
    if (world.rank() == 0 && update == 50) {
      std::printf("loss %.9g, weight %.9g, bias %.9g\n", window.loss().mean(), model->weight.item<float>(),
                  model->bias.item<float>());
    }
  }
}
