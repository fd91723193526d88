// Ranks with unequal numbers of batches: rank r has 2 (r + 1). Inside join(), a rank that has no more takes part in the
// others' exchanges with zeros, so that nobody waits for it, and all end with the same parameters.
#include <samegrad/comm/init.h>
#include <samegrad/ddp/distributed_data_parallel.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <iostream>

int main() {
  const samegrad::World world = samegrad::init();
  torch::nn::Linear model(torch::nn::LinearOptions(1, 1).bias(false));
  model->weight.data().zero_();
  samegrad::DistributedDataParallel ddp(model, world);
  torch::optim::SGD optimizer(model->parameters(), /*lr=*/1.0);

  const int batches = 2 * (world.rank() + 1);
  ddp.join([&] {
    for (int batch = 0; batch < batches; ++batch) {
      optimizer.zero_grad();
      ddp.forward(at::ones({8, 1})).mean().backward();  // gradient 1 on each rank that has a batch
      optimizer.step();
    }
  });
  std::cout << "rank " << world.rank() << ": " << batches << " batches, weight " << model->weight.item<double>()
            << '\n';
}
