// 12 tokens whose loss is 1 on one rank, 36 whose loss is 3 on another: the mean over tokens is 2.5, the mean of the
// ranks' means is 2. The loss of a token is weight x 1 or weight x 3, so that the gradient of the mean is the same
// number.
#include <samegrad/comm/init.h>
#include <samegrad/ddp/distributed_data_parallel.h>
#include <torch/nn/modules/linear.h>

#include <array>
#include <iostream>

int main() {
  const samegrad::World world = samegrad::init();
  torch::nn::Linear model(torch::nn::LinearOptions(1, 1).bias(false));
  model->weight.data().fill_(1);
  samegrad::DistributedDataParallel ddp(model, world);

  const std::array<at::Tensor, 2> sequences{at::full({12, 1}, 1.0), at::full({36, 1}, 3.0)};
  const int begin = 2 * world.rank() / world.size();  // with three ranks, the first has no sequence, and takes part
  const int end = 2 * (world.rank() + 1) / world.size();
  std::int64_t tokens = 0;
  for (int i = begin; i < end; ++i) {
    tokens += sequences.at(i).numel();
  }
  {
    auto window = ddp.window({.count = tokens, .atoms = end - begin});
    for (int i = begin; i < end; ++i) {
      window.backward([&] { return ddp.forward(sequences.at(i)).sum(); });
    }
    if (window.reduce() && world.rank() == 0) {
      std::cout << "mean over " << window.loss().count << " tokens: loss " << window.loss().mean() << ", gradient "
                << model->weight.grad().item<double>() << '\n';
    }
  }
  if (world.size() == 2) {  // what PyTorch's DistributedDataParallel makes of each rank's mean loss
    model->zero_grad();
    ddp.forward(sequences.at(world.rank())).mean().backward();
    if (world.rank() == 0) {
      std::cout << "mean of the ranks' means: gradient " << model->weight.grad().item<double>() << '\n';
    }
  }
}
