#include "samegrad/checkpoint/training_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/resume_rules.h"
#include "samegrad/config/load.h"
#include "samegrad/plan/plan_cursor.h"
#include "samegrad/plan/sampler_history.h"

namespace samegrad {
namespace {

// Copies one tensor of `file` into its place, or throws.
void copy_tensor(const SafetensorsFile& file, const std::filesystem::path& path, const std::string& name,
                 const ParameterPlace& place, std::span<float> flat) {
  const TensorView* tensor = file.find(name);
  if (tensor == nullptr) throw CheckError("checkpoint", path.string() + ": tensor '" + name + "' is missing");
  if (tensor->type != TensorType::kFloat32 || tensor->shape != place.shape) {
    throw CheckError("checkpoint",
                     path.string() + ": tensor '" + name + "' has another shape or type than the model's");
  }
  std::memcpy(flat.data() + place.offset, tensor->bytes.data(), tensor->bytes.size());
}

void read_blocks(const std::filesystem::path& path, const FlatLayout& layout,
                 std::span<const std::pair<std::string, std::span<float>>> blocks) {
  const SafetensorsFile file(path);
  std::set<std::string> names;
  for (const auto& [suffix, flat] : blocks) {
    for (const ParameterPlace& place : layout.places()) {
      copy_tensor(file, path, *names.insert(place.name + suffix).first, place, flat);
    }
  }
  for (const TensorView& tensor : file.tensors()) {
    if (!names.contains(tensor.name)) {
      throw CheckError("checkpoint", path.string() + ": tensor '" + printable(tensor.name) +
                                         "' is surplus; the model or optimizer here has none of that name");
    }
  }
}

AlignedBlock read_parameters(const std::filesystem::path& file, const FlatLayout& layout) {
  AlignedBlock values(ElementType::kFloat32, layout.flat_elements());
  const std::pair<std::string, std::span<float>> block{"", values.span()};
  read_blocks(file, layout, std::span(&block, 1));
  return values;
}

template <typename Element>
std::vector<TensorView> views_of(const FlatLayout& layout, std::span<const Element> flat, TensorType type) {
  std::vector<TensorView> views;
  views.reserve(layout.places().size());
  for (const ParameterPlace& place : layout.places()) {
    views.push_back({place.name, type, place.shape,
                     std::as_bytes(flat.subspan(static_cast<std::size_t>(place.offset),
                                                static_cast<std::size_t>(place.elements)))});
  }
  return views;
}

constexpr int kStateFormat = 1;

struct SavedCounts {
  std::int64_t update;
  std::int64_t skipped;
  std::int64_t non_finite;
  std::string hash_chain;
};

// A checkpoint can be whole and yet not be one that a training wrote.
SavedCounts saved_counts(const Checkpoint& checkpoint) {
  const auto count = [&](const char* name) { return whole_number(state_member(checkpoint, name), 0); };
  try {
    if (state_member(checkpoint, "format") != kStateFormat) throw JsonRefused("format: this version reads 1");
    if (!state_member(checkpoint, "kind").is_string()) throw JsonRefused("kind: no text");
    const auto chain = state_member(checkpoint, "hash_chain").get<std::string>();
    if (chain.size() != 32 || chain.find_first_not_of("0123456789abcdef") != std::string::npos) {
      throw JsonRefused("hash_chain: not 32 hexadecimal digits");
    }
    return {.update = count("update"),
            .skipped = count("skipped_windows"),
            .non_finite = count("skipped_non_finite"),
            .hash_chain = chain};
  } catch (const Json::exception& error) {
    refuse_state(checkpoint, error);
  }
}

}  // namespace

std::vector<TensorView> parameter_views(const FlatLayout& layout, std::span<const float> flat) {
  return views_of(layout, flat, TensorType::kFloat32);
}

std::vector<TensorView> parameter_views(const FlatLayout& layout, std::span<const double> flat) {
  return views_of(layout, flat, TensorType::kFloat64);
}

std::vector<TensorView> optimizer_views(const TrainState& state) {
  std::vector<TensorView> views;
  for (const Optimizer::StateBlock& block : state.optimizer->state()) {
    for (TensorView view : parameter_views(state.parameters.layout(), block.values.span())) {
      view.name += "." + block.name;
      views.push_back(std::move(view));
    }
  }
  return views;
}

CheckpointContent training_content(const TrainState& state, const RunConfig& config, const UpdatePlan& plan,
                                   const RunIdentity& identity) {
  const FlatLayout& layout = state.parameters.layout();
  CheckpointContent content;
  content.model = parameter_views(layout, state.parameters.values());
  content.optimizer = optimizer_views(state);
  const Json resolved = config_to_json(config);
  content.optimizer_options = {{"options", resolved["optimizer"]}, {"scalars", state.optimizer->scalars()}};
  content.state = {{"format", kStateFormat},
                   {"run_id", identity.run_id},
                   {"kind", identity.kind},
                   {"update", state.update},
                   {"hash_chain", state.hash_chain},
                   {"skipped_windows", state.skipped_windows},
                   {"skipped_non_finite", state.skipped_non_finite},
                   {"cursor", plan_cursor_to_json(plan.cursor(state.update))},
                   {"schedule", {{"steps_taken", state.optimizer->steps()}, {"steps_total", plan.updates()}}},
                   {"config", resolved},
                   {"config_digest", config_digest(config)},
                   {"plan_digest", plan.digest()},
                   {"data_lock", to_json(identity.data_lock)}};
  for (const SamplerHistory& history : state.histories) content.rank_files.push_back(sampler_history_to_json(history));
  return content;
}

void load_parameters(const std::filesystem::path& file, FlatParameters& parameters) {
  const AlignedBlock values = read_parameters(file, parameters.layout());
  std::ranges::copy(values.span(), parameters.values().begin());
}

void restore_training(const Checkpoint& checkpoint, TrainState& state) {
  const FlatLayout& layout = state.parameters.layout();
  const std::filesystem::path optimizer_file = checkpoint.path / "optimizer.safetensors";
  std::vector<AlignedBlock> values;
  std::vector<std::pair<std::string, std::span<float>>> blocks;
  for (const Optimizer::StateBlock& block : state.optimizer->state()) {
    values.emplace_back(ElementType::kFloat32, layout.flat_elements());
    blocks.emplace_back("." + block.name, values.back().span());
  }
  read_blocks(optimizer_file, layout, blocks);
  const SafetensorsFile optimizer(optimizer_file);
  const Json scalars = read_optimizer_options(optimizer);
  std::vector<SamplerHistory> histories;
  for (std::size_t rank = 0; rank < state.histories.size(); ++rank) {
    const std::string name = "rank-" + std::to_string(rank) + ".json";
    if (rank >= checkpoint.rank_files.size()) {
      throw CheckError("checkpoint", (checkpoint.path / name).string() + ": missing, rank " + std::to_string(rank));
    }
    histories.push_back(sampler_history_from_json(checkpoint.rank_files[rank], static_cast<std::int64_t>(rank),
                                                  (checkpoint.path / name).string()));
  }
  const SavedCounts counts = saved_counts(checkpoint);
  const AlignedBlock parameters = read_parameters(checkpoint.path / "model.safetensors", layout);
  // The last that may refuse; nothing is changed before it.
  state.optimizer->restore_scalars(scalars.is_object() && scalars.contains("scalars") ? scalars["scalars"] : Json(),
                                   optimizer_file.string());
  std::ranges::copy(parameters.span(), state.parameters.values().begin());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::ranges::copy(values[i].span(), state.optimizer->state()[i].values.span().begin());
  }
  state.histories = std::move(histories);
  state.hash_chain = counts.hash_chain;
  state.update = counts.update;
  state.skipped_windows = counts.skipped;
  state.skipped_non_finite = counts.non_finite;
}

}  // namespace samegrad
