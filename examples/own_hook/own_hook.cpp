// A communication hook of one's own: every rank's gradient counts by its number of samples. Rank 0 has 12 samples whose
// mean is 1, the others have 36 whose mean is 3; without the hook, the mean of the ranks' means would be used.
#include <samegrad/comm/init.h>
#include <samegrad/ddp/distributed_data_parallel.h>
#include <torch/nn/modules/linear.h>

#include <iostream>

int main() {
  const samegrad::World world = samegrad::init();
  const torch::nn::Linear model(torch::nn::LinearOptions(1, 1).bias(false));
  samegrad::DistributedDataParallel ddp(model, world);

  const int samples = world.rank() == 0 ? 12 : 36;
  const int all_samples = 12 + 36 * (world.size() - 1);
  ddp.register_comm_hook([=](samegrad::GradBucket& bucket, const samegrad::World& ranks) {
    bucket.buffer.mul_(static_cast<double>(samples) / all_samples);
    return samegrad::sum_hook(bucket, ranks);
  });

  const at::Tensor x = at::full({samples, 1}, world.rank() == 0 ? 1.0 : 3.0);
  ddp.forward(x).mean().backward();  // of one rank: the mean of its x
  if (world.rank() == 0) {
    std::cout << "gradient over " << all_samples << " samples: " << model->weight.grad().item<double>() << '\n';
  }
}
