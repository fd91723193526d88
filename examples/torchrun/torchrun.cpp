// A user's program under torchrun, mpirun, srun or `samegrad launch`: init() finds its place, whoever started it.
#include <samegrad/comm/init.h>
#include <samegrad/ddp/distributed_data_parallel.h>
#include <torch/nn/modules/linear.h>

#include <iostream>
#include <sstream>

int main() {
  const samegrad::World world = samegrad::init();
  const torch::nn::Linear model(torch::nn::LinearOptions(1, 1).bias(false));
  samegrad::DistributedDataParallel ddp(model, world);
  ddp.forward(at::full({4, 1}, 1.0 + world.rank()))
      .mean()
      .backward();  // gradient 1 + rank; the mean over ranks is left

  std::ostringstream line;
  line << "rank " << world.rank() << " of " << world.size() << " over " << world.backend() << ": gradient "
       << model->weight.grad().item<double>() << '\n';
  std::cout << line.str() << std::flush;
}
