#include "tests/campaigns/saved_values.h"

#include <cstring>

#include "samegrad/checkpoint/checkpoint.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

float seed_of(const std::filesystem::path& checkpoint) {
  const SafetensorsFile model(checkpoint / kModelFile);
  float seed = 0;
  std::memcpy(&seed, model.tensors()[0].bytes.data(), sizeof seed);
  return seed;
}

}  // namespace

FoundCheckpoints found_checkpoints(const std::filesystem::path& checkpoints) {
  FoundCheckpoints found;
  for (const CheckpointStatus& status : list_checkpoints(checkpoints)) {
    if (!status.complete) {
      found.problems.push_back(status.problem);
      continue;
    }
    // An older one that stands aside until its successor has the name.
    const auto [place, is_new] = found.values.try_emplace(status.update, seed_of(status.path));
    if (!is_new) found.problems.push_back("two of update " + std::to_string(status.update));
  }
  const LatestCheckpoint latest = find_latest(checkpoints, "run-a");
  if (latest.found) found.latest = latest.found->update;
  return found;
}

std::vector<std::string> hidden_names(const std::filesystem::path& folder) {
  std::vector<std::string> hidden;
  if (!std::filesystem::exists(folder)) return hidden;
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with('.')) hidden.push_back(name);
  }
  return hidden;
}

std::string text_of(const SavedValues& values) {
  std::string text = "{";
  for (const auto& [update, seed] : values) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(update) + ": " + std::to_string(static_cast<int>(seed));
  }
  return text + "}";
}

}  // namespace samegrad
