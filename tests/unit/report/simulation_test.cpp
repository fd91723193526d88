// What `simulate` predicts. Bytes and buffers of real windows are compared in tests/unit/ddp/window_costs_test.cpp and
// tests/multiproc/test_simulated_costs.py, operations in tests/oracle/test_simulate_oracle.py.
#include "samegrad/report/simulation.h"

#include <gtest/gtest.h>

#include "samegrad/plan/atom_tree.h"
#include "samegrad/report/figures.h"
#include "xml_check.h"

namespace samegrad {
namespace {

constexpr double kMuch = 1e30;

/// Nothing but `flops` and the links takes time.
SimulatedMachine machine_of(double flops, SimulatedLink host = {kMuch, 0.0}, SimulatedLink network = {kMuch, 0.0}) {
  return {.flops = flops, .memory_bandwidth = kMuch, .ranks_per_host = 4, .host = host, .network = network};
}

/// A model of 64 elements whose atoms take these operations.
SimulatedWork work_of(std::vector<double> operations) {
  SimulatedWork work{.parameters = 64, .flat_elements = 64, .step_bytes = 0, .memory = {}, .operations = {}};
  work.operations.push_back(std::move(operations));
  return work;
}

TEST(Simulation, OneRankExchangesNothingAndIsTheMeasureOfEfficiency) {
  const SimulatedRow row = simulate_update(uniform_work(RunConfig{}, 4, 68), SimulatedMachine{}, 1);
  for (const SimulatedReduction& one : {row.canonical, row.native}) {
    EXPECT_EQ(one.bytes_sent, 0);
    EXPECT_EQ(one.bytes_received, 0);
    EXPECT_EQ(one.exchange_memory, 0);
    EXPECT_EQ(one.seconds.exchange, 0.0);
    EXPECT_EQ(one.seconds.agreement, 0.0);
    EXPECT_EQ(one.efficiency, 1.0);
  }
  EXPECT_EQ(row.shared_memory, 0);
}

TEST(Simulation, CanonicalBytesAreHalfOfMPlusOneTimesThoseOfARing) {
  for (const std::int64_t atoms : {1, 4, 6, 10, 64, 100, 4096}) {
    for (const std::int64_t ranks : {2, 3, 5, 8, 9, 64, 1000, 4096}) {
      const SimulatedRow row = simulate_update(uniform_work(RunConfig{}, atoms, 1), SimulatedMachine{}, ranks);
      ASSERT_EQ(2 * row.canonical.bytes_sent, (row.subtrees + 1) * row.native.bytes_sent) << atoms << ", " << ranks;
      ASSERT_EQ(row.canonical.bytes_sent, row.canonical.bytes_received);
      if (atoms % ranks == 0 && (atoms / ranks & (atoms / ranks - 1)) == 0) {
        ASSERT_EQ(row.subtrees, 1) << atoms << ", " << ranks;
      }
    }
  }
}

TEST(Simulation, TheSlowestRankIsWaitedFor) {
  const SimulatedRow row = simulate_update(work_of({1.0, 1.0, 3.0, 3.0}), machine_of(1.0), 2);
  EXPECT_DOUBLE_EQ(row.canonical.seconds.compute, 6.0);
  EXPECT_DOUBLE_EQ(row.mean_compute_seconds, 4.0);
  EXPECT_DOUBLE_EQ(row.canonical.efficiency, 8.0 / (2 * 6.0));
}

TEST(Simulation, EveryWindowOfAPlanCounts) {
  SimulatedWork work = work_of({1.0, 3.0});
  work.operations.push_back({5.0, 1.0});
  const SimulatedRow row = simulate_update(work, machine_of(1.0), 2);
  EXPECT_DOUBLE_EQ(row.canonical.seconds.compute, (3.0 + 5.0) / 2);
  EXPECT_DOUBLE_EQ(row.mean_compute_seconds, (2.0 + 3.0) / 2);
}

TEST(Simulation, ALinkIsPaidByBytesAndByMessages) {
  // 64 elements on 2 ranks: shards of 32, 128 bytes; a subtree and the result go to the other rank.
  const SimulatedRow bytes = simulate_update(work_of({1.0, 1.0}), machine_of(kMuch, {128.0, 0.0}), 2);
  EXPECT_DOUBLE_EQ(bytes.canonical.seconds.exchange, 2.0);
  EXPECT_DOUBLE_EQ(bytes.native.seconds.exchange, 2.0);
  const SimulatedRow messages = simulate_update(work_of({1.0, 1.0}), machine_of(kMuch, {kMuch, 1.0}), 2);
  EXPECT_NEAR(messages.canonical.seconds.exchange, 2.0, 1e-12) << "two meetings";
  EXPECT_NEAR(messages.native.seconds.exchange, 2.0, 1e-12) << "a ring of two: two steps";
}

TEST(Simulation, RanksOfAHostShareItsNetworkLink) {
  // 8 ranks on 2 hosts, shards of 16 elements, 64 bytes: each of 4 ranks sends 2 x 64 bytes to 4 others.
  const SimulatedRow row =
      simulate_update(work_of(std::vector<double>(8, 1.0)), machine_of(kMuch, {kMuch, 0.0}, {64.0, 0.0}), 8);
  EXPECT_EQ(row.hosts, 2);
  EXPECT_NEAR(row.canonical.seconds.exchange, 4.0 * 4.0 * 2.0, 1e-9);
  EXPECT_NEAR(row.native.seconds.exchange, 14.0, 1e-9) << "2 x 7 steps, each of one shard over the slowest link";
}

TEST(Simulation, MemoryIsTheSumOfItsParts) {
  RunConfig config;
  config.optimizer.kind = "adamw";
  const SimulatedWork work = uniform_work(config, 8, 68);
  const SimulatedRow row = simulate_update(work, SimulatedMachine{}, 2);
  EXPECT_EQ(work.parameters, 282'628);
  EXPECT_EQ(work.memory.optimizer, 2 * 4 * work.parameters);
  EXPECT_EQ(row.gradient_buffers, 3) << "a rank's 4 atoms: two waiting sums and the atom itself";
  EXPECT_EQ(row.gradient_memory, 3 * 4 * work.flat_elements);
  EXPECT_EQ(row.native.memory, work.memory.total() + row.gradient_memory + row.shared_memory);
  EXPECT_EQ(row.canonical.exchange_memory, 0) << "in place on one host";
  const SimulatedRow hosts = simulate_update(work, {.ranks_per_host = 1}, 2);
  EXPECT_EQ(hosts.shared_memory, 0);
  EXPECT_GT(hosts.canonical.exchange_memory, 0);
  EXPECT_EQ(hosts.canonical.memory, hosts.native.memory + hosts.canonical.exchange_memory);
}

TEST(Simulation, RanksWithoutAtomsOnlyCost) {
  const SimulatedWork work = work_of({1.0, 1.0});
  const SimulatedRow two = simulate_update(work, machine_of(1.0), 2);
  const SimulatedRow four = simulate_update(work, machine_of(1.0), 4);
  EXPECT_DOUBLE_EQ(four.canonical.seconds.compute, two.canonical.seconds.compute);
  EXPECT_NEAR(four.canonical.efficiency, two.canonical.efficiency / 2, 1e-12);
}

TEST(SimulationFigure, IsWellFormedForOneRowAndForMany) {
  std::vector<SimulatedRow> rows;
  for (std::int64_t ranks = 1; ranks <= 4096; ranks *= 2) {
    rows.push_back(simulate_update(uniform_work(RunConfig{}, 4 * ranks, 68), SimulatedMachine{}, ranks));
  }
  const std::string svg = simulation_figure(rows, "all");
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_NE(svg.find(">4,096<"), std::string::npos);
  EXPECT_EQ(xml_problem(simulation_figure({rows.data(), 1}, "one")), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace samegrad
