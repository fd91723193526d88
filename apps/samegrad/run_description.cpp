#include "apps/samegrad/run_description.h"

#include <cstdlib>
#include <sstream>

#include "apps/samegrad/library_versions.h"
#include "samegrad/base/log.h"
#include "samegrad/model/parameter_spec.h"
#include "samegrad/plan/atom_tree.h"
#include "samegrad/report/facts_list.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

std::int64_t atom_tokens(const RunContext& context, const Atom& atom) {
  std::int64_t tokens = 0;
  for (const std::int64_t id : atom) tokens += context.run.data.train->supervised_tokens(id);
  return tokens;
}

std::int64_t range_tokens(const RunContext& context, const PlanWindow& window, AtomRange range) {
  std::int64_t tokens = 0;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    tokens += atom_tokens(context, window.atoms[static_cast<std::size_t>(atom)]);
  }
  return tokens;
}

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

std::string optimizer_text(const RunConfig& config) {
  std::ostringstream text;
  text << config.optimizer.kind << ", learning rate " << config.optimizer.learning_rate << ", " << config.schedule.kind;
  if (config.optimizer.max_grad_norm > 0.0) text << ", gradient norm clipped to " << config.optimizer.max_grad_norm;
  return text.str();
}

std::string data_text(const RunContext& context) {
  const std::string source = context.config.data.task == "lesson" ? "lesson" : context.config.data.train;
  return source + ", " + grouped(context.run.data.train->size()) + " samples";
}

// Parameters, the optimizer's blocks, and the gradients of a window on the fullest rank.
std::int64_t flat_bytes(const RunContext& context) {
  const std::int64_t elements = parameter_count(context.config.model);
  const std::int64_t optimizer_blocks =
      context.config.optimizer.kind == "adamw" ? 2 : (context.config.optimizer.momentum != 0.0 ? 1 : 0);
  std::int64_t gradient_blocks = 2;  // the atom being computed and the result
  for (std::int64_t atoms = context.config.plan.atoms_per_window(); atoms > 1; atoms /= 2) ++gradient_blocks;
  return elements * static_cast<std::int64_t>(sizeof(float)) * (1 + optimizer_blocks + gradient_blocks);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
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
          .optimizer = optimizer_text(context.config),
          .first_update = first_update,
          .last_update = 0,
          .total_updates = context.run.plan->updates(),
          .atoms = atoms,
          .samples_per_atom = context.config.plan.batch_size_per_rank,
          .first_window_tokens = range_tokens(context, window, {0, atoms}),
          .world_size = context.comm->size(),
          .transport = std::string(context.comm->backend()),
          .device = "cpu",
          .places = {{"metrics", context.paths.metrics.string()}, {"checkpoints", context.paths.checkpoints.string()}}};
}

std::string dry_run_text(const RunContext& context, std::int64_t first_update) {
  std::string text;
  for (const IngestReport& report : context.run.data.reports) {
    for (const std::string& line : ingest_lines(report)) text += line + "\n";
  }
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("memory a rank", bytes_text(flat_bytes(context)) +
                                          " for parameters, optimizer and gradients, besides libtorch and activations");
  const PlanWindow window = context.run.plan->window(first_update);
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  const std::vector<AtomRange> ranges = rank_ranges(atoms, context.comm->size());
  for (std::size_t rank = 0; rank < ranges.size(); ++rank) {
    facts.emplace_back("rank " + std::to_string(rank) + " of update " + std::to_string(first_update),
                       std::to_string(ranges[rank].size()) + " atoms, " +
                           grouped(range_tokens(context, window, ranges[rank])) + " supervised tokens");
  }
  return text + facts_list(facts, TextStyle{.colour = log_uses_colour()}) +
         "dry run: nothing was trained; prepared data, plan and initial weights are in " +
         context.paths.outputs.string() + "\n";
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

Json manifest_facts(const Communicator& comm) {
  Json libraries = Json::object();
  for (const auto& [name, version] : library_versions()) libraries[name] = version;
  return {{"world_size", comm.size()},
          {"backend", comm.backend()},
          {"libraries", libraries},
          {"dispatch",
           {{"MKL_CBWR", environment("MKL_CBWR")},
            {"ATEN_CPU_CAPABILITY", environment("ATEN_CPU_CAPABILITY")},
            {"ONEDNN_MAX_CPU_ISA", environment("ONEDNN_MAX_CPU_ISA")},
            {"OMP_NUM_THREADS", environment("OMP_NUM_THREADS")}}}};
}

}  // namespace samegrad
