// `samegrad generate`: a continuation of a prompt by a trained text model.
#include "samegrad/train/generate.h"

#include <iostream>

#include "apps/samegrad/command_config.h"
#include "apps/samegrad/commands.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/model/model.h"
#include "samegrad/train/train_state.h"

namespace samegrad {
namespace {

std::filesystem::path newest_checkpoint(const RunPaths& paths) {
  const LatestCheckpoint latest = latest_checkpoint(paths);
  if (!latest.found) {
    throw InputError("generate", "no complete checkpoint of the current run in " + paths.checkpoints.string() +
                                     "; train first, or give one with --checkpoint PATH");
  }
  return latest.found->path;
}

}  // namespace

int run_generate(const CommandLine& command) {
  const RunPaths paths(command.run);
  const Checkpoint checkpoint = verify_checkpoint(
      command.checkpoint.empty() ? newest_checkpoint(paths) : std::filesystem::path(command.checkpoint));
  const RunConfig config = config_of(checkpoint);
  if (config.data.task != "text") {
    throw InputError("generate", "data.task: " + checkpoint.path.string() + " holds a model for task '" +
                                     config.data.task + "', generate needs task 'text'");
  }
  TrainState state = initial_state(config);
  load_parameters(checkpoint.path / "model.safetensors", state.parameters);
  const std::unique_ptr<Model> model = make_model(config.model, state.parameters.tensors());
  std::vector<std::int32_t> prompt;
  for (const char byte : command.prompt) prompt.push_back(static_cast<unsigned char>(byte));
  const std::vector<std::int32_t> tokens = generate(*model, config.model, prompt,
                                                    {.most_tokens = command.max_tokens,
                                                     .temperature = command.temperature,
                                                     .seed = static_cast<std::uint64_t>(config.seed)});
  std::string continuation;
  for (const std::int32_t token : tokens) continuation += static_cast<char>(token);
  std::cout << command.prompt << continuation << "\n";
  return 0;
}

}  // namespace samegrad
