// `samegrad simulate`: what a training would cost on machines that are not here.
#include <algorithm>
#include <bit>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/prepare_run.h"
#include "samegrad/base/atomic_file.h"
#include "samegrad/base/json.h"
#include "samegrad/config/load.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/report/facts_list.h"
#include "samegrad/report/figures.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/simulation.h"

namespace samegrad {
namespace {

/// Windows of a prepared plan that are looked at.
constexpr std::int64_t kMostWindows = 100;

/// What is simulated: the work for a number of ranks, and what a person should know of it.
struct Subject {
  std::function<SimulatedWork(std::int64_t world_size)> work;
  std::int64_t atoms = 0;  ///< 0: grows with the ranks
  std::string tokens;
};

/// A usual sample: for the lesson the mean of its two pools, for text the longest.
std::int64_t usual_tokens(const RunConfig& config) {
  const DataConfig& data = config.data;
  if (data.task == "lesson") return (data.shortest + 2 * data.split + 1 + data.longest + 2) / 4;
  return std::max<std::int64_t>(1, config.model.positions - 1);
}

Subject uniform_subject(const RunConfig& config, const SimulateSettings& settings) {
  const std::int64_t tokens = settings.tokens > 0 ? settings.tokens : usual_tokens(config);
  const std::int64_t per_rank = settings.atoms_per_rank;
  const std::int64_t fixed = settings.atoms > 0 ? settings.atoms : config.plan.atoms_per_window();
  Subject subject;
  subject.atoms = per_rank > 0 ? 0 : fixed;
  subject.tokens = grouped(tokens) + " in every sample";
  subject.work = [=, &config](std::int64_t world_size) {
    return uniform_work(config, per_rank > 0 ? per_rank * world_size : fixed, tokens);
  };
  return subject;
}

Subject planned_subject(const RunConfig& config, const RunPaths& paths) {
  const OpenedRun run = open_run(config, paths);
  std::vector<std::vector<std::vector<std::int64_t>>> tokens;
  const std::int64_t windows = std::min(kMostWindows, run.plan->updates());
  for (std::int64_t update = 1; update <= windows; ++update) {
    auto& of_window = tokens.emplace_back();
    for (const Atom& atom : run.plan->window(update).atoms) {
      auto& of_atom = of_window.emplace_back();
      for (const std::int64_t id : atom) of_atom.push_back(run.data.train->input_tokens(id));
    }
  }
  SimulatedWork work = planned_work(config, tokens);
  Subject subject;
  subject.atoms = config.plan.atoms_per_window();
  subject.tokens = "of the plan's first " + grouped(windows) + " windows in " + paths.outputs.string();
  subject.work = [work = std::move(work)](std::int64_t) { return work; };
  return subject;
}

/// Powers of two up to one atom a rank, or as far as simulate goes.
std::vector<std::int64_t> usual_world_sizes(std::int64_t atoms) {
  const std::int64_t most = atoms == 0 ? kMostSimulatedRanks : std::min(atoms, kMostSimulatedRanks);
  std::vector<std::int64_t> sizes{1};
  while (sizes.back() < most) sizes.push_back(2 * sizes.back());
  return sizes;
}

Json machine_to_json(const SimulatedMachine& machine) {
  return {{"flops", machine.flops},
          {"memory_bandwidth", machine.memory_bandwidth},
          {"ranks_per_host", machine.ranks_per_host},
          {"host_bandwidth", machine.host.bytes_per_second},
          {"host_latency", machine.host.latency_seconds},
          {"network_bandwidth", machine.network.bytes_per_second},
          {"network_latency", machine.network.latency_seconds}};
}

std::string link_text(const SimulatedLink& link) {
  return shortest(link.bytes_per_second) + " B/s, " + shortest(link.latency_seconds) + " s";
}

std::string facts_text(const SimulatedWork& work, const Subject& subject, const SimulatedMachine& machine) {
  return facts_list(
      std::vector<std::pair<std::string, std::string>>{
          {"model", grouped(work.parameters) + " parameters"},
          {"window", subject.atoms == 0 ? "grows with the ranks" : grouped(subject.atoms) + " atoms"},
          {"tokens", subject.tokens},
          {"rank", shortest(machine.flops) + " FLOP/s, memory " + shortest(machine.memory_bandwidth) + " B/s"},
          {"in a host", grouped(machine.ranks_per_host) + " ranks; " + link_text(machine.host)},
          {"between hosts", link_text(machine.network)}},
      TextStyle{});
}

}  // namespace

int run_simulate(const CommandLine& command) {
  const SimulateSettings& settings = command.simulate;
  const RunConfig config = load_config(command.config, command.overrides);
  const Subject subject =
      command.run_given ? planned_subject(config, RunPaths(command.run)) : uniform_subject(config, settings);
  const std::vector<std::int64_t> world_sizes =
      settings.world_sizes.empty() ? usual_world_sizes(subject.atoms) : settings.world_sizes;
  std::vector<SimulatedRow> rows;
  rows.reserve(world_sizes.size());
  for (const std::int64_t world_size : world_sizes) {
    rows.push_back(simulate_update(subject.work(world_size), settings.machine, world_size));
  }
  const SimulatedWork work = subject.work(world_sizes.front());
  if (!settings.figure.empty()) {
    write_file_atomically(
        settings.figure,
        simulation_figure(rows, grouped(work.parameters) + " parameters; " + grouped(settings.machine.ranks_per_host) +
                                    " ranks a host. A model of the machine, not a measurement."));
  }
  if (command.json) {
    Json json{{"parameters", work.parameters},
              {"gradient_elements", work.flat_elements},
              {"memory",
               {{"parameters", work.memory.parameters},
                {"optimizer", work.memory.optimizer},
                {"activations", work.memory.activations}}},
              {"machine", machine_to_json(settings.machine)},
              {"rows", Json::array()}};
    for (const SimulatedRow& row : rows) json["rows"].push_back(to_json(row));
    std::cout << result_text(json) << "\n";
    return 0;
  }
  std::cout << facts_text(work, subject, settings.machine) << "\n" << simulation_text(rows);
  if (!settings.figure.empty()) std::cout << "\nFigure: " << settings.figure << "\n";
  return 0;
}

}  // namespace samegrad
