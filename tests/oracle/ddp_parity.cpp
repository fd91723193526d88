// ddp-parity REQUEST.json FOLDER: trains small models on several ranks, which are processes, and writes what each rank
// had after every step, for comparison with PyTorch (test_ddp_parity.py).
// REQUEST: [{"engine", "ranks", "cases": [{"name", "model", "accumulation", "zeroing", "views", "cap_mb",
// "find_unused", "static_graph", "loss_outputs"}]}]. engine: samegrad, sum (its sum in place of the mean), local (no
// exchange), c10d (PyTorch's reducer). FOLDER/<engine>-<ranks>-<rank>.safetensors: "<case>/<step>/<parameter>", a
// gradient, left out where it is undefined; "<case>/<step>/buffers/<buffer>"; metadata: the message of each case that
// threw.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>

#include "benchmarks/c10d_reducer.h"
#include "samegrad/base/atomic_file.h"
#include "samegrad/base/json.h"
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_region.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/oracle/ddp_parity_models.h"

namespace samegrad {
namespace {

using parity::Model;
using parity::Tensors;

constexpr int kSteps = 5;
constexpr double kLearningRate = 0.1;

/// As in ddp_models.py.
at::Tensor noise(at::IntArrayRef shape, std::uint32_t seed) {
  at::Tensor values = at::empty(shape, at::kDouble);
  auto* const value = values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    std::uint32_t number = (static_cast<std::uint32_t>(i) + 1) * (2 * seed + 3);
    number *= 2654435761U;
    number ^= number >> 15U;
    number *= 2246822519U;
    number ^= number >> 13U;
    number *= 3266489917U;
    number ^= number >> 16U;
    value[i] = number / std::exp2(32) - 0.5;
  }
  return values;
}

void fill(Model& model) {
  const at::NoGradGuard no_grad;
  for (const auto& parameter : model.named_parameters()) {
    std::uint32_t seed = 0;
    for (std::size_t i = 0; i < parameter.key().size(); ++i) {
      seed += static_cast<std::uint32_t>(i + 1) * static_cast<unsigned char>(parameter.key()[i]);
    }
    at::Tensor values = parameter.value();
    values.copy_(noise(values.sizes(), seed).mul(0.8));
  }
}

at::Tensor batch(int rank, int step, int micro) {
  return noise({3 + rank % 2, 36}, static_cast<std::uint32_t>(1000 + 100 * rank + 10 * step + micro)).to(at::kFloat);
}

struct Case {
  explicit Case(const Json& json)
      : name(json.at("name")),
        model(json.at("model")),
        zeroing(json.at("zeroing")),
        accumulation(json.at("accumulation")),
        loss_outputs(json.at("loss_outputs")) {
    options.gradient_as_bucket_view = json.at("views");
    options.find_unused_parameters = json.at("find_unused");
    options.static_graph = json.at("static_graph");
    if (!json.at("cap_mb").is_null()) options.bucket_cap_mb = options.first_bucket_mb = json.at("cap_mb");
  }

  std::string name;
  std::string model;
  std::string zeroing;  // none, zero, keep
  int accumulation;
  std::size_t loss_outputs;  // how many of the outputs the loss uses
  DistributedDataParallelOptions options;
};

/// One way to train a model on several ranks.
class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  using LossOf = std::function<at::Tensor(const Tensors&)>;
  /// Forward and backward, which ends with an exchange where `synchronize`.
  virtual void pass(const at::Tensor& x, std::int64_t choice, bool synchronize, const LossOf& loss) = 0;
};

class SamegradEngine : public Engine {
 public:
  SamegradEngine(const std::shared_ptr<Model>& model, const World& world, const DistributedDataParallelOptions& options)
      : ddp_(model, world, options) {}

  void pass(const at::Tensor& x, std::int64_t choice, bool synchronize, const LossOf& loss) override {
    if (synchronize) {
      loss(ddp_.forward(x, choice)).backward();
    } else {
      const auto scope = ddp_.no_sync();
      loss(ddp_.forward(x, choice)).backward();
    }
  }

 private:
  DistributedDataParallel<std::shared_ptr<Model>> ddp_;
};

class LocalEngine : public Engine {
 public:
  explicit LocalEngine(std::shared_ptr<Model> model) : model_(std::move(model)) {}
  void pass(const at::Tensor& x, std::int64_t choice, bool, const LossOf& loss) override {
    loss(model_->forward(x, choice)).backward();
  }

 private:
  std::shared_ptr<Model> model_;
};

class C10dEngine : public Engine {
 public:
  C10dEngine(std::shared_ptr<Model> model, C10dGroup& group, const DistributedDataParallelOptions& options)
      : model_(std::move(model)),
        reducer_(group, model_->parameters(),
                 {.bucket_bytes_cap = static_cast<std::int64_t>(options.bucket_cap_mb * 1024 * 1024),
                  .first_bucket_bytes_cap = static_cast<std::int64_t>(options.first_bucket_mb * 1024 * 1024),
                  .find_unused_parameters = options.find_unused_parameters,
                  .gradient_as_bucket_view = options.gradient_as_bucket_view}) {}

  void pass(const at::Tensor& x, std::int64_t choice, bool synchronize, const LossOf& loss) override {
    if (synchronize) reducer_.before_forward();
    const Tensors outputs = model_->forward(x, choice);
    if (synchronize) reducer_.after_forward(outputs);
    loss(outputs).backward();
  }

 private:
  std::shared_ptr<Model> model_;
  C10dReducer reducer_;
};

/// What a rank had, for the file.
struct Record {
  std::vector<std::string> names;
  Tensors tensors;
  std::map<std::string, std::string> errors;

  void add(std::string name, const at::Tensor& tensor) {
    const at::Tensor dense = tensor.layout() == at::kStrided ? tensor.detach() : tensor.detach().to_dense();
    names.push_back(std::move(name));
    tensors.push_back((dense.scalar_type() == at::kBFloat16 ? dense.to(at::kFloat) : dense)
                          .contiguous()
                          .clone(at::MemoryFormat::Contiguous));
  }

  void write(const std::string& path) const {
    std::vector<TensorView> views;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const at::Tensor& tensor = tensors[i];
      const TensorType type = tensor.scalar_type() == at::kDouble ? TensorType::kFloat64
                              : tensor.scalar_type() == at::kLong ? TensorType::kInt64
                                                                  : TensorType::kFloat32;
      views.push_back({names[i],
                       type,
                       tensor.sizes().vec(),
                       {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
    }
    write_file_atomically(path, safetensors_bytes(views, errors));
  }
};

void clear_gradients(Model& model, const std::string& zeroing) {
  if (zeroing == "keep") return;
  for (const at::Tensor& parameter : model.parameters()) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (zeroing == "none") {
      gradient.reset();
    } else if (gradient.defined()) {
      gradient.zero_();
    }
  }
}

void step(Model& model) {
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : model.parameters()) {
    if (parameter.grad().defined()) parameter.add_(parameter.grad(), -kLearningRate);
  }
}

void train(Model& model, Engine& engine, int rank, const Case& one, Record& record) {
  for (int i = 0; i < kSteps; ++i) {
    clear_gradients(model, one.zeroing);
    for (int micro = 0; micro < one.accumulation; ++micro) {
      engine.pass(batch(rank, i, micro), rank + i + micro, micro + 1 == one.accumulation, [&](const Tensors& outputs) {
        at::Tensor loss = (outputs[0] - 0.25).pow(2).mean();
        for (std::size_t k = 1; k < one.loss_outputs; ++k) loss = loss + (outputs[k] - 0.25).pow(2).mean();
        return loss;
      });
    }
    const std::string place = one.name + "/" + std::to_string(i) + "/";
    for (const auto& parameter : model.named_parameters()) {
      if (parameter.value().grad().defined()) record.add(place + parameter.key(), parameter.value().grad());
    }
    for (const auto& buffer : model.named_buffers()) record.add(place + "buffers/" + buffer.key(), buffer.value());
    step(model);
  }
}

void run_rank(const Json& run, const std::string& folder, int rank, const World& world) {
  const std::string engine_name = run.at("engine");
  const std::string prefix = folder + "/" + engine_name + "-" + std::to_string(world.size());
  std::optional<C10dGroup> group;
  if (engine_name == "c10d") group.emplace(prefix + ".store", rank, world.size());
  Record record;
  for (const Json& json : run.at("cases")) {
    Case one(json);
    try {
      const std::shared_ptr<Model> model = parity::make_model(one.model);
      fill(*model);
      std::unique_ptr<Engine> engine;
      if (engine_name == "c10d") {
        engine = std::make_unique<C10dEngine>(model, *group, one.options);
      } else if (engine_name == "local") {
        engine = std::make_unique<LocalEngine>(model);
      } else {
        if (engine_name == "sum") one.options.reduction = GradientReduction::kSum;
        engine = std::make_unique<SamegradEngine>(model, world, one.options);
      }
      train(*model, *engine, rank, one, record);
    } catch (const std::exception& error) {
      record.errors[one.name] = error.what();
    }
  }
  world.barrier();
  record.write(prefix + "-" + std::to_string(rank) + ".safetensors");
}

/// Whether all ranks ended well.
bool run_processes(const Json& run, const std::string& folder) {
  const int world_size = run.at("ranks");
  const int memory = create_region_file(world_size, kDefaultSlotBytes);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    const pid_t pid = fork();
    if (pid != 0) {
      ranks.push_back(pid);
      continue;
    }
    try {
      const auto communicator = std::make_shared<ShmCommunicator>(
          std::make_shared<ShmRegion>(ShmRegion::adopt_file(memory, world_size)), rank);
      run_rank(run, folder, rank, World(communicator, std::chrono::minutes(1)));
      communicator->barrier({"end", 0, std::chrono::minutes(1)});
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      _exit(1);
    }
  }
  close(memory);
  bool well = true;
  for (const pid_t pid : ranks) {
    int status = -1;
    waitpid(pid, &status, 0);
    if (status != 0) std::fprintf(stderr, "a rank of %s ended with status %d\n", run.dump().c_str(), status);
    well = well && status == 0;
  }
  return well;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: ddp-parity REQUEST.json FOLDER\n", stderr);
    return 2;
  }
  try {
    const samegrad::Json request = samegrad::read_json_file(argv[1], "ddp_parity");
    for (const samegrad::Json& run : request) {
      if (!samegrad::run_processes(run, argv[2])) return 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
