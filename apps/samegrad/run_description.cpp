#include "apps/samegrad/run_description.h"

#include <algorithm>
#include <sstream>

#include "apps/samegrad/library_versions.h"
#include "samegrad/base/log.h"
#include "samegrad/model/parameter_spec.h"
#include "samegrad/plan/atom_tree.h"
#include "samegrad/plan/cost_balance.h"
#include "samegrad/plan/sample_cost.h"
#include "samegrad/report/dry_run.h"
#include "samegrad/report/memory_estimate.h"
#include "samegrad/report/number_text.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {
namespace {

std::int64_t parameter_count(const ModelConfig& model) {
  std::int64_t elements = 0;
  for (const ParameterSpec& spec : parameter_specs(model)) elements += spec.elements();
  return elements;
}

std::string model_text(const ModelConfig& model) {
  std::ostringstream text;
  text << model.kind << ", " << model.layers << " layers, width " << model.width << ", " << model.heads
       << " heads, feed-forward " << model.feed_forward << ", trained from scratch";
  return text.str();
}

std::string objective_text(const RunContext& context) {
  const ObjectiveConfig& objective = context.config.objective;
  const Objective counted = training_objective(context.config, *context.run.data.train);
  std::ostringstream text;
  text << "unit " << objective.unit;
  if (counted.weighted) text << ", samples with weights";
  if (!counted.class_weights.empty()) text << ", class weights";
  text << ": N is ";
  if (counted.unit == Unit::kConstant) {
    text << grouped(counted.constant);
  } else {
    text << "the window's " << divisor_name(counted);
  }
  if (objective.z_loss > 0.0) text << "; plus " << objective.z_loss << " x z-loss";
  if (objective.l2 > 0.0) text << "; plus " << objective.l2 << " x half the parameters' squares";
  return text.str();
}

std::string optimizer_text(const RunConfig& config) {
  std::ostringstream text;
  text << config.optimizer.kind << ", learning rate " << config.optimizer.learning_rate << ", " << config.schedule.kind;
  if (config.schedule.warmup_updates > 0) {
    text << " after a warm-up of " << config.schedule.warmup_updates
         << (config.schedule.warmup_updates == 1 ? " update" : " updates");
  }
  if (config.optimizer.max_grad_norm > 0.0) text << ", gradient norm clipped to " << config.optimizer.max_grad_norm;
  return text.str();
}

std::string data_text(const RunContext& context) {
  const std::string source = context.config.data.task == "lesson" ? "lesson" : context.config.data.train;
  return source + ", " + grouped(context.run.data.train->size()) + " samples";
}

std::string kernels_text(const Dispatch& dispatch) {
  return "samegrad " + dispatch.at("samegrad_kernels") + ", ATen " + dispatch.at("aten_capability") + ", MKL " +
         dispatch.at("mkl_branch") + " (" + dispatch.at("mkl_cbwr") + "), oneDNN " + dispatch.at("onednn_max_isa") +
         ", libtorch " + dispatch.at("libtorch");
}

RankWindow rank_window(const RunContext& context, const PlanWindow& window, AtomRange range) {
  RankWindow result{.atoms = range.size()};
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    for (const std::int64_t id : window.atoms[static_cast<std::size_t>(atom)]) {
      ++result.samples;
      result.input_tokens += context.run.data.train->input_tokens(id);
      result.supervised_tokens += context.run.data.train->supervised_tokens(id);
    }
  }
  return result;
}

CostBalance window_balance(const RunContext& context, const PlanWindow& window) {
  return cost_balance(atom_costs(window, *context.run.data.train, sample_cost(context.config)), context.comm->size());
}

}  // namespace

RunHeader run_header(const RunContext& context, std::int64_t first_update) {
  const PlanWindow window = context.run.plan->window(first_update);
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  return {.run_id = {},
          .action = {},
          .model = model_text(context.config.model),
          .parameters = parameter_count(context.config.model),
          .data = data_text(context),
          .objective = objective_text(context),
          .optimizer = optimizer_text(context.config),
          .first_update = first_update,
          .last_update = 0,
          .total_updates = context.run.plan->updates(),
          .atoms = atoms,
          .samples_per_atom = context.config.plan.batch_size_per_rank,
          .balanced = context.config.plan.balance != "none",
          .cost = window_balance(context, window),
          .first_window_tokens = rank_window(context, window, {0, atoms}).supervised_tokens,
          .world_size = context.comm->size(),
          .transport = std::string(context.comm->backend()),
          .device = "cpu",
          .kernels = kernels_text(context.dispatch),
          .places = {{"metrics", context.paths.metrics.string()}, {"checkpoints", context.paths.checkpoints.string()}}};
}

std::string dry_run_text(const RunContext& context, std::int64_t first_update) {
  DryRun dry_run{.first_update = first_update};
  for (const IngestReport& report : context.run.data.reports) {
    for (const std::string& line : ingest_lines(report)) dry_run.data_lines.push_back(line);
  }
  const PlanWindow window = context.run.plan->window(first_update);
  dry_run.cost = window_balance(context, window);
  std::int64_t most_atom_tokens = 0;
  for (std::int64_t atom = 0; atom < static_cast<std::int64_t>(window.atoms.size()); ++atom) {
    most_atom_tokens = std::max(most_atom_tokens, rank_window(context, window, {atom, atom + 1}).input_tokens);
  }
  dry_run.memory = estimate_memory(context.config, parameter_count(context.config.model), most_atom_tokens,
                                   context.config.model.positions);
  const Objective objective = training_objective(context.config, *context.run.data.train);
  dry_run.counted = divisor_name(objective);
  for (const AtomRange& range : rank_ranges(static_cast<std::int64_t>(window.atoms.size()), context.comm->size())) {
    RankWindow& rank = dry_run.first_window.emplace_back(rank_window(context, window, range));
    const WindowBatches batches = window_batches(window, range, *context.run.data.train, objective);
    rank.units.count = batches.supervised_units;
    if (batches.atom_weights) rank.units.weight = tree_sum(*batches.atom_weights);
  }
  return dry_run_tables(dry_run, TextStyle{.colour = log_uses_colour()}) +
         "dry run: nothing was trained, and the run's folder is as it was\n";
}

std::string trace_ids_text(const PlanWindow& window, int world_size) {
  const std::vector<AtomRange> ranges = rank_ranges(static_cast<std::int64_t>(window.atoms.size()), world_size);
  std::string text;
  for (std::size_t rank = 0; rank < ranges.size(); ++rank) {
    Json atoms = Json::array();
    for (std::int64_t atom = ranges[rank].begin; atom < ranges[rank].end; ++atom) {
      atoms.push_back(window.atoms[static_cast<std::size_t>(atom)]);
    }
    text += "update " + std::to_string(window.update) + " rank " + std::to_string(rank) + ": " + atoms.dump() + "\n";
  }
  return text;
}

Json manifest_facts(const RunContext& context) {
  Json libraries = Json::object();
  for (const auto& [name, version] : library_versions()) libraries[name] = version;
  return {{"world_size", context.comm->size()},
          {"backend", context.comm->backend()},
          {"libraries", libraries},
          {"dispatch", dispatch_to_json(context.dispatch)}};
}

}  // namespace samegrad
