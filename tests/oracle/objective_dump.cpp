// objective-dump REQUEST.json FOLDER: the first window of a text run under several objectives, by the trainer, on 1, 2
// and 3 ranks (threads). REQUEST: {"base": [KEY=VALUE...], "cases": {NAME: [KEY=VALUE...]}}. FOLDER gets plan.json,
// init.safetensors, NAME.safetensors (the gradient on 1 rank) and result.json: {NAME: {"loss_sum", "divisor",
// "supervised_tokens", "gradient_hashes" by number of ranks, "validation_loss" (over the training data)}}.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/check.h"
#include "samegrad/base/json.h"
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/config/load.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/data/prepare_data.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/train/evaluate.h"
#include "samegrad/train/trainer.h"
#include "samegrad/train/weighed_batch.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

/// What one rank saw of the window.
struct Seen {
  UpdateResult result;
  std::vector<float> gradient;
  double validation_loss = 0.0;
};

Seen first_window(const RunConfig& config, const RunPaths& paths, Communicator& comm) {
  const DataSets data = open_data(config, paths);
  const std::shared_ptr<const UpdatePlan> plan = make_update_plan(config, *data.train);
  Trainer trainer(config, data.train, plan, comm, "oracle", initial_state(config));
  const Evaluation validation = evaluate(trainer.model(), *data.train, evaluation_objective(config, *data.train),
                                         /*batch_size=*/3, comm, std::chrono::minutes(1));
  Seen seen{.result = {}, .gradient = {}, .validation_loss = validation.loss.mean()};
  seen.result = trainer.train_update({.on_gradient = [&](std::span<const float> gradient) {
    seen.gradient.assign(gradient.begin(), gradient.end());
  }});
  return seen;
}

Json run_case(const RunConfig& config, const RunPaths& paths, const std::filesystem::path& gradient_file) {
  prepare_data(config, paths);
  Json hashes = Json::array();
  Seen single;
  for (const int ranks : {1, 2, 3}) {
    std::mutex mutex;
    Seen of_rank_0;
    const auto errors = testing::run_ranks(ranks, [&](Communicator& comm) {
      SAMEGRAD_CHECK_OP(comm.size(), ==, ranks);
      Seen seen = first_window(config, paths, comm);
      const std::lock_guard lock(mutex);
      if (comm.rank() == 0) of_rank_0 = std::move(seen);
    });
    for (const std::string& error : errors) {
      if (!error.empty()) throw std::runtime_error(error);
    }
    hashes.push_back(of_rank_0.result.gradient_hash + of_rank_0.result.parameters_hash);
    if (ranks == 1) single = std::move(of_rank_0);
  }
  const TrainState state = initial_state(config);
  write_file_atomically(gradient_file,
                        safetensors_bytes(parameter_views(state.parameters.layout(), std::span(single.gradient))));
  return {{"loss_sum", single.result.loss.sum},
          {"divisor", divisor_to_json(single.result.loss)},
          {"supervised_tokens", single.result.supervised_tokens},
          {"gradient_hashes", hashes},
          {"validation_loss", single.validation_loss}};
}

void dump(const char* request_path, const std::filesystem::path& folder) {
  const Json request = read_json_file(request_path, "objective_dump");
  const auto base = request.at("base").get<std::vector<std::string>>();
  const RunPaths paths(folder / "run");
  Json result = Json::object();
  for (const auto& [name, settings] : request.at("cases").items()) {
    std::vector<std::string> overrides = base;
    for (const Json& setting : settings) overrides.push_back(setting.get<std::string>());
    const RunConfig config = load_config("", overrides);
    result[name] = run_case(config, paths, folder / (name + ".safetensors"));
    if (std::filesystem::exists(folder / "plan.json")) continue;
    const DataSets data = open_data(config, paths);
    const TrainState state = initial_state(config);
    write_json_file(folder / "plan.json", plan_to_json(*make_update_plan(config, *data.train), config, 1'000'000));
    write_file_atomically(folder / "init.safetensors",
                          safetensors_bytes(parameter_views(state.parameters.layout(), state.parameters.values())));
  }
  write_json_file(folder / "result.json", result);
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: objective-dump REQUEST.json FOLDER\n", stderr);
    return 2;
  }
  try {
    samegrad::dump(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
