#include "apps/samegrad/prepare_run.h"

#include <simdjson.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/base/mapped_file.h"
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/config/load.h"
#include "samegrad/model/parameter_spec.h"

namespace samegrad {
namespace {

constexpr std::int64_t kMostIdsInPlanFile = 2'000'000;

// Initial weights depend on model and seed alone; both stand in the file, for whoever reads it.
std::string weights_key(const RunConfig& config) {
  return Json{{"seed", config.seed}, {"model", config_to_json(config)["model"]}}.dump();
}

std::string initial_weights_bytes(const RunConfig& config) {
  const std::vector<ParameterSpec> specs = parameter_specs(config.model);
  std::vector<std::vector<float>> values;
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    values.emplace_back(static_cast<std::size_t>(specs[i].elements()));
    initialise_parameter(specs[i], static_cast<std::int64_t>(i), static_cast<std::uint64_t>(config.seed),
                         values.back());
    views.push_back({specs[i].name, TensorType::kFloat32, specs[i].shape, std::as_bytes(std::span(values.back()))});
  }
  return safetensors_bytes(views, {{"made_for", weights_key(config)}});
}

bool holds_exactly(const std::filesystem::path& file, const std::string& bytes) {
  return std::filesystem::exists(file) && MappedFile(file, "prepare").bytes() == bytes;
}

// The file may hold millions of ids: it is read through, but nothing of it is kept. What is unreadable or of another
// form is made again.
bool plan_is_current(const UpdatePlan& plan, const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return false;
  try {
    const MappedFile bytes(file, "plan");
    const simdjson::padded_string text(bytes.bytes());
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document written = parser.iterate(text);
    if (std::string_view(written["digest"]) != plan.digest() || std::int64_t(written["updates"]) != plan.updates()) {
      return false;
    }
    simdjson::ondemand::value ids = written["plan"];
    const bool whole = ids.is_null() || static_cast<std::int64_t>(std::size_t(ids.count_elements())) == plan.updates();
    return whole && text.size() > 2 && std::string_view(text).ends_with("}\n");
  } catch (const simdjson::simdjson_error&) {
    return false;
  } catch (const InputError&) {
    return false;
  }
}

OpenedRun run_of(const RunConfig& config, DataSets data) {
  OpenedRun run{.data = std::move(data), .plan = nullptr, .digest = {}};
  run.plan = make_update_plan(config, *run.data.train);
  run.digest = sha256_hex(config_digest(config) + run.plan->digest() + run.data.lock.digest());
  return run;
}

}  // namespace

std::string prepare_run(const RunConfig& config, const RunPaths& paths, PrepareOptions options,
                        const std::function<void(OpenedRun&)>& accept) {
  std::string wrote;
  const auto note = [&](const std::string& what, const std::filesystem::path& file) {
    wrote += "  wrote " + what + ": " + file.string() + "\n";
  };
  OpenedRun run;
  options.accept = [&](DataSets data) {
    run = run_of(config, std::move(data));
    if (accept) accept(run);
  };
  for (const std::filesystem::path& file : prepare_data(config, paths, options).written) note("data", file);
  if (!plan_is_current(*run.plan, paths.plan)) {
    write_json_file(paths.plan, plan_to_json(*run.plan, config, kMostIdsInPlanFile));
    note("plan", paths.plan);
  }
  if (const std::string weights = initial_weights_bytes(config); !holds_exactly(paths.init, weights)) {
    write_file_atomically(paths.init, weights);
    note("initial weights", paths.init);
  }
  return wrote;
}

OpenedRun open_run(const RunConfig& config, const RunPaths& paths) { return run_of(config, open_data(config, paths)); }

}  // namespace samegrad
