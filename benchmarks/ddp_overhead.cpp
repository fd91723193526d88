// `ddp_overhead RANKS MODEL SIDES ROUNDS ITERATIONS FILE`: seconds of a training step on RANKS processes, each way to
// train in turn (SIDES, with commas): bare (no library: no exchange), ddp (samegrad's DistributedDataParallel over
// shared memory), window (its Window), c10d and c10d_views (PyTorch's c10d::Reducer over Gloo, gradients apart from its
// buckets or in them). MODEL: lesson, 3m, 25m. Rank 0 writes FILE: JSON, by side and round the median seconds of the
// slowest rank; and the largest difference of a gradient from the mean of the ranks' own, relative to the largest
// component. benchmarks/ddp_overhead.py runs it.
#include <malloc.h>
#include <sys/wait.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/transformercoder.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/optim/sgd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/c10d_reducer.h"
#include "samegrad/base/json.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_region.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/ddp/window.h"

namespace samegrad {
namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
  std::int64_t layers, width, feed_forward, heads, sequences, tokens;
};

/// 282,628 parameters, as the lesson's model has; 3.2 and 25.3 million.
const std::map<std::string, Shape> kShapes{
    {"lesson", {2, 128, 256, 4, 8, 128}}, {"3m", {4, 256, 1024, 4, 8, 128}}, {"25m", {8, 512, 2048, 8, 8, 128}}};

/// A Transformer encoder with learned positions and a class for each token.
struct EncoderImpl : torch::nn::Module {
  explicit EncoderImpl(const Shape& shape)
      : token(register_module("token", torch::nn::Embedding(6, shape.width))),
        position(register_module("position", torch::nn::Embedding(128, shape.width))),
        encoder(register_module(
            "encoder",
            torch::nn::TransformerEncoder(torch::nn::TransformerEncoderOptions(
                torch::nn::TransformerEncoderLayer(torch::nn::TransformerEncoderLayerOptions(shape.width, shape.heads)
                                                       .dim_feedforward(shape.feed_forward)
                                                       .dropout(0)),
                shape.layers)))),
        head(register_module("head", torch::nn::Linear(shape.width, 4))) {}

  /// ids [tokens, sequences] -> [tokens, sequences, 4].
  at::Tensor forward(const at::Tensor& ids) {
    return head(encoder(token(ids) + position(at::arange(ids.size(0))).unsqueeze(1)));
  }

  torch::nn::Embedding token;
  torch::nn::Embedding position;
  torch::nn::TransformerEncoder encoder;
  torch::nn::Linear head;
};
TORCH_MODULE(Encoder);

struct Batch {
  at::Tensor ids;
  at::Tensor targets;
};

Batch batch_of(const Shape& shape, int rank) {
  at::manual_seed(7 + static_cast<std::uint64_t>(rank));
  return {at::randint(6, {shape.tokens, shape.sequences}, at::kLong),
          at::randint(4, {shape.tokens * shape.sequences}, at::kLong)};
}

at::Tensor loss_of(const at::Tensor& logits, const Batch& batch, at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(logits.view({-1, 4}), batch.targets, {}, reduction);
}

/// One way to make a training step, on a model of its own.
class Side {
 public:
  Side(const Shape& shape, const Batch& batch) : batch_(&batch) {
    at::manual_seed(1);
    model_ = Encoder(shape);
    optimizer_.emplace(model_->parameters(), torch::optim::SGDOptions(0.01));
  }
  virtual ~Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Forward, backward and the exchange: afterwards .grad is what the optimizer takes.
  virtual void gradients() { mean_loss(model_->forward(batch_->ids)).backward(); }
  void step() {
    // Not zero_grad(): it refuses gradients that are views of PyTorch's buckets.
    for (const at::Tensor& parameter : model_->parameters()) parameter.mutable_grad().reset();
    gradients();
    optimizer_->step();
  }
  /// All of .grad in one row.
  at::Tensor gradient() const {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& parameter : model_->parameters()) parts.push_back(parameter.grad().flatten());
    return at::cat(parts);
  }

 protected:
  at::Tensor mean_loss(const at::Tensor& logits) const { return loss_of(logits, *batch_, at::Reduction::Mean); }

  const Batch* batch_;
  Encoder model_{nullptr};
  std::optional<torch::optim::SGD> optimizer_;
};

class DdpSide : public Side {
 public:
  DdpSide(const Shape& shape, const Batch& batch, const World& world) : Side(shape, batch), ddp_(model_, world) {}
  void gradients() override { mean_loss(ddp_.forward(batch_->ids)).backward(); }

 private:
  DistributedDataParallel<Encoder> ddp_;
};

class WindowSide : public Side {
 public:
  WindowSide(const Shape& shape, const Batch& batch, const World& world)
      : Side(shape, batch), world_(world), parameters_(module_contents(*model_).parameters), pool_(parameters_) {}
  void gradients() override {
    Window window(parameters_, pool_, world_.communicator(),
                  {.count = batch_->targets.numel(), .atoms = 1, .update = ++update_});
    window.backward([this] { return loss_of(model_->forward(batch_->ids), *batch_, at::Reduction::Sum); });
    window.reduce();
  }

 private:
  World world_;
  ParameterSet parameters_;
  GradientBufferPool pool_;
  std::int64_t update_ = 0;
};

class C10dSide : public Side {
 public:
  C10dSide(const Shape& shape, const Batch& batch, C10dGroup& group, bool views)
      : Side(shape, batch), reducer_(group, model_->parameters(), {.gradient_as_bucket_view = views}) {}
  void gradients() override {
    reducer_.before_forward();
    const at::Tensor logits = model_->forward(batch_->ids);
    reducer_.after_forward({logits});
    mean_loss(logits).backward();
  }

 private:
  C10dReducer reducer_;
};

std::vector<double> gathered(const World& world, double mine) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  world.communicator().all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                                  {"figure", 0, world.timeout()});
  return all;
}

at::Tensor mean_over_ranks(const World& world, const at::Tensor& own) {
  at::Tensor all = at::empty({world.size(), own.numel()});
  world.communicator().all_gather({static_cast<const std::byte*>(own.const_data_ptr()), own.nbytes()},
                                  {static_cast<std::byte*>(all.mutable_data_ptr()), all.nbytes()},
                                  {"gradient", 0, world.timeout()});
  return all.to(at::kDouble).mean(0);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Seconds of the slowest rank.
double timed_step(const World& world, Side& side) {
  world.barrier();
  const Clock::time_point start = Clock::now();
  side.step();
  return std::ranges::max(gathered(world, std::chrono::duration<double>(Clock::now() - start).count()));
}

using Sides = std::vector<std::pair<std::string, std::unique_ptr<Side>>>;

Sides make_sides(const World& world, const Shape& shape, const Batch& batch, const std::string& names,
                 std::unique_ptr<C10dGroup>& group, const std::string& path) {
  Sides sides;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    std::unique_ptr<Side> side;
    if (name == "ddp") {
      side = std::make_unique<DdpSide>(shape, batch, world);
    } else if (name == "window") {
      side = std::make_unique<WindowSide>(shape, batch, world);
    } else if (name.starts_with("c10d")) {
      if (!group) group = std::make_unique<C10dGroup>(path + ".store", world.rank(), world.size());
      side = std::make_unique<C10dSide>(shape, batch, *group, name == "c10d_views");
    } else {
      side = std::make_unique<Side>(shape, batch);
    }
    sides.emplace_back(name, std::move(side));
  }
  return sides;
}

double largest_difference(const World& world, const Shape& shape, const Batch& batch, const Sides& sides) {
  Side own(shape, batch);
  own.gradients();
  const at::Tensor expected = mean_over_ranks(world, own.gradient());
  double difference = 0.0;
  for (const auto& [name, side] : sides) {
    if (name == "bare") continue;
    side->gradients();
    const at::Tensor error = (side->gradient().to(at::kDouble) - expected).abs().max() / expected.abs().max();
    difference = std::max(difference, error.item<double>());
  }
  return difference;
}

void measure(const World& world, char** arguments) {
  const Shape& shape = kShapes.at(arguments[2]);
  const std::int64_t rounds = std::stol(arguments[4]);
  const std::int64_t iterations = std::stol(arguments[5]);
  const std::string path = arguments[6];
  const Batch batch = batch_of(shape, world.rank());
  std::unique_ptr<C10dGroup> group;
  const Sides sides = make_sides(world, shape, batch, arguments[3], group, path);
  const double difference = largest_difference(world, shape, batch, sides);
  for (const auto& [name, side] : sides) {
    for (int warm_up = 0; warm_up < 2; ++warm_up) timed_step(world, *side);
  }
  Json seconds = Json::object();
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::map<std::string, std::vector<double>> by_side;
    for (std::int64_t i = 0; i < iterations; ++i) {
      for (const auto& [name, side] : sides) by_side[name].push_back(timed_step(world, *side));
    }
    for (const auto& [name, values] : by_side) seconds[name].push_back(median(values));
  }
  if (world.rank() != 0) return;
  std::ofstream(path) << Json{{"ranks", world.size()},
                              {"parameters", sides.front().second->gradient().numel()},
                              {"tokens", shape.sequences * shape.tokens},
                              {"difference", difference},
                              {"seconds", seconds}}
                             .dump()
                      << "\n";
}

int run_rank(int memory, int ranks, int rank, char** arguments) {
  try {
    at::set_num_threads(1);
    // Memory stays with the process: else pages given back and taken anew by one side are timed in another.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, -1);
    const auto communicator =
        std::make_shared<ShmCommunicator>(std::make_shared<ShmRegion>(ShmRegion::adopt_file(memory, ranks)), rank);
    const World world(communicator, std::chrono::minutes(2));
    world.barrier();
    measure(world, arguments);
    world.barrier();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "rank " << rank << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int ranks = std::stoi(argv[1]);
  const int memory = samegrad::create_region_file(ranks, samegrad::kDefaultSlotBytes);
  if (ranks == 1) return samegrad::run_rank(memory, 1, 0, argv);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(samegrad::run_rank(memory, ranks, rank, argv));
    children.push_back(child);
  }
  bool failed = false;
  for (const pid_t child : children) {
    int status = 1;
    failed = waitpid(child, &status, 0) != child || status != 0 || failed;
  }
  return failed ? 1 : 0;
}
