// A small convolutional network with BatchNorm learns generated digits. The last line is the same for every number of
// processes, down to the hash of all parameters and running statistics.
#include <samegrad/base/error.h>
#include <samegrad/comm/init.h>
#include <samegrad/ddp/distributed_data_parallel.h>
#include <samegrad/ddp/model_hash.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <array>
#include <cstdint>
#include <cstdio>

namespace {

constexpr int kSide = 12;
constexpr int kAtoms = 8;  // of an update
constexpr int kImagesPerAtom = 16;
constexpr int kUpdates = 100;

// Rows of 5 pixels, the leftmost in bit 4.
constexpr std::array<std::array<std::uint8_t, 7>, 10> kDigits{{{14, 17, 19, 21, 25, 17, 14},
                                                               {4, 12, 4, 4, 4, 4, 14},
                                                               {14, 17, 1, 2, 4, 8, 31},
                                                               {31, 2, 4, 2, 1, 17, 14},
                                                               {2, 6, 10, 18, 31, 2, 2},
                                                               {31, 16, 30, 1, 1, 17, 14},
                                                               {6, 8, 16, 30, 17, 17, 14},
                                                               {31, 1, 2, 4, 8, 8, 8},
                                                               {14, 17, 17, 14, 17, 17, 14},
                                                               {14, 17, 17, 15, 1, 2, 12}}};

/// A number that depends on `key` alone (SplitMix64): what an image looks like depends on its id, not on who draws it.
std::uint64_t scrambled(std::uint64_t key) {
  key += 0x9E3779B97F4A7C15;
  key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9;
  key = (key ^ (key >> 27)) * 0x94D049BB133111EB;
  return key ^ (key >> 31);
}

struct Batch {
  at::Tensor images;  // [count, 1, kSide, kSide]
  at::Tensor labels;  // [count]
};

/// Images first, ..., first + count - 1: a digit somewhere in the picture, in noise.
Batch draw(std::int64_t first, int count) {
  Batch batch{at::empty({count, 1, kSide, kSide}), at::empty({count}, at::kLong)};
  float* pixel = batch.images.data_ptr<float>();
  for (std::int64_t id = first; id < first + count; ++id) {
    const std::uint64_t place = scrambled(static_cast<std::uint64_t>(id));
    const auto digit = place % 10;
    const int left = 2 + static_cast<int>((place >> 8) % 4);
    const int top = 1 + static_cast<int>((place >> 16) % 4);
    batch.labels[id - first] = static_cast<std::int64_t>(digit);
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const bool in_digit = y >= top && y < top + 7 && x >= left && x < left + 5;
        const bool ink = in_digit && ((kDigits.at(digit).at(y - top) >> (4 - (x - left))) & 1) != 0;
        const std::uint64_t noise = scrambled(place + static_cast<std::uint64_t>(y * kSide + x) + 1);
        *pixel++ = (ink ? 1.0F : 0.0F) + static_cast<float>(noise >> 40) / static_cast<float>(1 << 24) - 0.5F;
      }
    }
  }
  return batch;
}

struct NetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& images) {
    const at::Tensor features = at::max_pool2d(at::relu(norm->forward(conv->forward(images))), 2);
    return head->forward(features.flatten(1));
  }

  torch::nn::Conv2d conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 3).padding(1)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(8));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(8 * 6 * 6, 10));
};
TORCH_MODULE(Net);

void train() {
  const samegrad::World world = samegrad::init();
  torch::manual_seed(7);
  Net net;
  samegrad::DistributedDataParallel ddp(net, world);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));

  const int begin = kAtoms * world.rank() / world.size();
  const int end = kAtoms * (world.rank() + 1) / world.size();
  double loss = 0.0;
  for (int update = 0; update < kUpdates; ++update) {
    auto window = ddp.window({.count = kImagesPerAtom * (end - begin), .atoms = end - begin});
    for (int atom = begin; atom < end; ++atom) {
      window.backward([&] {
        const Batch batch = draw((update * kAtoms + atom) * kImagesPerAtom, kImagesPerAtom);
        return at::cross_entropy_loss(ddp.forward(batch.images), batch.labels, {}, at::Reduction::Sum);
      });
    }
    if (!window.reduce()) continue;
    optimizer.step();
    loss = window.loss().mean();
  }

  ddp.eval();
  const at::NoGradGuard no_grad;
  const Batch test = draw(1'000'000, 500);
  const double accuracy = net->forward(test.images).argmax(1).eq(test.labels).to(at::kDouble).mean().item<double>();
  if (world.rank() == 0) {
    std::printf("loss %.9g, test accuracy %.3f, parameters %s, buffers %s\n", loss, accuracy,
                samegrad::model_hash(*net).c_str(), samegrad::buffers_hash(*net).c_str());
  }
}

}  // namespace

int main() {
  try {
    train();
  } catch (const samegrad::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
