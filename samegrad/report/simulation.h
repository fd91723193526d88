// What a training costs on machines that are not here: time of an update, exchange, memory and efficiency of a rank,
// for any number of ranks (docs/simulate.md has the formulas). Bytes of exchange and gradient buffers come from the
// functions that a real run uses, and are exact; times are a model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/config/run_config.h"
#include "samegrad/report/memory_estimate.h"
#include "samegrad/report/simulated_machine.h"

namespace samegrad {

/// What is to be computed, by any number of ranks.
struct SimulatedWork {
  std::int64_t parameters = 0;     ///< elements
  std::int64_t flat_elements = 0;  ///< of a gradient: parameters, with the gaps between tensors
  std::int64_t step_bytes = 0;     ///< of memory that norm, hashes and optimizer move
  MemoryEstimate memory;           ///< of one rank; its gradients are left out, for they depend on the rank
  /// [window][atom]: operations of forward and backward. At least one window of at least one atom; all of one size.
  std::vector<std::vector<double>> operations;
};

/// The work of a config: every sample has `tokens` tokens, every window `atoms` atoms. Local.
SimulatedWork uniform_work(const RunConfig& config, std::int64_t atoms, std::int64_t tokens);
/// The work of a config whose windows hold samples of `tokens` [window][atom][sample] tokens. Local.
SimulatedWork planned_work(const RunConfig& config, std::span<const std::vector<std::vector<std::int64_t>>> tokens);

/// Seconds of one update, on the slowest rank.
struct SimulatedSeconds {
  double compute = 0.0;    ///< forward, backward, sums of the rank's own atoms
  double exchange = 0.0;   ///< of the gradient, with its sums
  double agreement = 0.0;  ///< small messages
  double step = 0.0;       ///< norm, hashes, optimizer

  double total() const { return compute + exchange + agreement + step; }
};

/// One way to reduce, on one number of ranks; bytes are those of the rank with the most.
struct SimulatedReduction {
  SimulatedSeconds seconds;
  double efficiency = 0.0;  ///< time of one rank for the same window / (ranks x this time)
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::int64_t exchange_memory = 0;  ///< temporary memory of the exchange
  std::int64_t memory = 0;           ///< all of it, without libtorch and the program itself
};

struct SimulatedRow {
  std::int64_t world_size = 1;
  std::int64_t hosts = 1;
  std::int64_t atoms = 1;             ///< of a window
  std::int64_t most_atoms = 1;        ///< of a rank
  std::int64_t subtrees = 1;          ///< most of a rank: what canonical reduction sends for each shard
  double mean_compute_seconds = 0.0;  ///< over ranks
  std::int64_t gradient_buffers = 1;  ///< most of a rank
  std::int64_t gradient_memory = 0;   ///< of these
  std::int64_t shared_memory = 0;     ///< a rank's part of the region that a host's ranks share; none: one rank
  SimulatedReduction canonical;
  SimulatedReduction native;  ///< a ring all-reduce
};

/// Local.
SimulatedRow simulate_update(const SimulatedWork& work, const SimulatedMachine& machine, std::int64_t world_size);

/// A row of `simulate --json`. Local.
Json to_json(const SimulatedRow& row);

/// The rows as tables: canonical reduction, then native. Local.
std::string simulation_text(std::span<const SimulatedRow> rows);

}  // namespace samegrad
