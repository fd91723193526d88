#include "samegrad/report/simulation.h"

#include <algorithm>

#include "samegrad/base/check.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/shm_region.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {
namespace {

constexpr std::int64_t kFloatBytes = 4;
/// Read both, write one.
constexpr std::int64_t kBytesOfAddition = 3 * kFloatBytes;
/// Small messages of an update that go to all: agreement, failures, loss sums, learning rate, rank shares, metrics.
constexpr std::int64_t kSmallExchanges = 6;
/// Communicator::piece_bytes of gloo. Ranks of one host need no pieces: they read and write each other's memory.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 22;
constexpr double kMeetingsInPlace = 2.0;

/// The other ranks, as a rank of a full host sees them.
struct Peers {
  std::int64_t here = 0;
  std::int64_t elsewhere = 0;
};

Peers peers_of(const SimulatedMachine& machine, std::int64_t world_size) {
  const std::int64_t here = std::min(machine.ranks_per_host, world_size);
  return {here - 1, world_size - here};
}

/// A rank sends `bytes` to each other rank, in `rounds` messages one after another.
double all_to_all_seconds(const SimulatedMachine& machine, const Peers& peers, double bytes, double rounds) {
  const auto here = static_cast<double>(peers.here);
  const auto elsewhere = static_cast<double>(peers.elsewhere);
  // All ranks of a host send through its network link at once.
  const double network_share = machine.network.bytes_per_second / (here + 1.0);
  return rounds * (here * machine.host.latency_seconds + elsewhere * machine.network.latency_seconds) +
         here * bytes / machine.host.bytes_per_second + elsewhere * bytes / network_share;
}

/// Each step of a ring waits for its slowest link; one rank of a host sends to the next host.
double ring_seconds(const SimulatedMachine& machine, const Peers& peers, double chunk_bytes, double steps) {
  const auto message = [&](const SimulatedLink& link) {
    return link.latency_seconds + chunk_bytes / link.bytes_per_second;
  };
  double step = 0.0;
  if (peers.here > 0) step = std::max(step, message(machine.host));
  if (peers.elsewhere > 0) step = std::max(step, message(machine.network));
  return steps * step;
}

struct ComputeSeconds {
  double slowest = 0.0;
  double mean = 0.0;
};

/// Over the windows' mean. `sums`: seconds of a rank's own additions and of clearing its buffers, by rank.
ComputeSeconds compute_seconds(const SimulatedWork& work, std::span<const AtomRange> ranges,
                               std::span<const double> sums, double flops) {
  ComputeSeconds result;
  for (const std::vector<double>& window : work.operations) {
    double slowest = 0.0;
    for (std::size_t rank = 0; rank < ranges.size(); ++rank) {
      double operations = 0.0;
      for (std::int64_t atom = ranges[rank].begin; atom < ranges[rank].end; ++atom) {
        operations += window[static_cast<std::size_t>(atom)];
      }
      const double seconds = operations / flops + sums[rank];
      slowest = std::max(slowest, seconds);
      result.mean += seconds / static_cast<double>(ranges.size());
    }
    result.slowest += slowest;
  }
  const auto windows = static_cast<double>(work.operations.size());
  return {result.slowest / windows, result.mean / windows};
}

/// All of the row but efficiency.
SimulatedRow row_of(const SimulatedWork& work, const SimulatedMachine& machine, std::int64_t world_size) {
  SAMEGRAD_CHECK_OP(work.operations.size(), >, 0U);
  SimulatedRow row;
  row.world_size = world_size;
  row.hosts = (world_size + machine.ranks_per_host - 1) / machine.ranks_per_host;
  row.atoms = static_cast<std::int64_t>(work.operations.front().size());
  const std::vector<AtomRange> ranges = rank_ranges(row.atoms, world_size);
  const auto flat = static_cast<double>(work.flat_elements);
  std::vector<double> sums;
  std::int64_t all_subtrees = 0;
  for (const AtomRange& range : ranges) {
    const auto subtrees = static_cast<std::int64_t>(maximal_subtrees(row.atoms, range).size());
    all_subtrees += subtrees;
    row.most_atoms = std::max(row.most_atoms, range.size());
    row.gradient_buffers = std::max(row.gradient_buffers, sums_held(row.atoms, range));
    const auto additions = static_cast<double>((range.size() - subtrees) * kBytesOfAddition);
    const auto clearing = static_cast<double>(range.size() * kFloatBytes);
    sums.push_back((additions + clearing) * flat / machine.memory_bandwidth);
  }
  row.gradient_memory = row.gradient_buffers * work.flat_elements * kFloatBytes;
  const ComputeSeconds compute = compute_seconds(work, ranges, sums, machine.flops);
  row.mean_compute_seconds = compute.mean;

  const Peers peers = peers_of(machine, world_size);
  const ExchangeCost cost = exchange_cost(ranges, work.flat_elements, kFloatBytes, kPieceBytes);
  row.subtrees = cost.subtrees;
  const bool in_place = row.hosts == 1;
  // What a host's ranks share: two slots and a record each. Between hosts, Gloo has no such memory.
  if (world_size > 1 && in_place) {
    row.shared_memory = static_cast<std::int64_t>(2 * kDefaultSlotBytes + sizeof(ShmRankRecord));
  }
  const auto others = static_cast<double>(world_size - 1);
  const auto shard_bytes = static_cast<double>(cost.shard * kFloatBytes);
  const auto sum_seconds = [&](double summands) {
    return summands * static_cast<double>(cost.shard * kBytesOfAddition) / machine.memory_bandwidth;
  };
  const SimulatedSeconds of_both{.compute = compute.slowest,
                                 .agreement = all_to_all_seconds(machine, peers, 0.0, kSmallExchanges),
                                 .step = static_cast<double>(work.step_bytes) / machine.memory_bandwidth};
  const std::int64_t held = work.memory.total() + row.gradient_memory + row.shared_memory;

  row.canonical.seconds = row.native.seconds = of_both;
  if (world_size > 1) {
    row.canonical.seconds.exchange =
        all_to_all_seconds(machine, peers, shard_bytes * static_cast<double>(cost.subtrees + 1),
                           in_place ? kMeetingsInPlace : static_cast<double>(2 * cost.pieces)) +
        sum_seconds(static_cast<double>(all_subtrees - 1));
    row.native.seconds.exchange = ring_seconds(machine, peers, shard_bytes, 2.0 * others) + sum_seconds(others);
  }
  row.canonical.bytes_sent = cost.volume.bytes_sent;
  row.canonical.bytes_received = cost.volume.bytes_received;
  row.native.bytes_sent = row.native.bytes_received = 2 * (world_size - 1) * cost.shard * kFloatBytes;
  row.canonical.exchange_memory = in_place ? 0 : cost.temporary_bytes;
  row.canonical.memory = held + row.canonical.exchange_memory;
  row.native.memory = held;
  return row;
}

}  // namespace

SimulatedRow simulate_update(const SimulatedWork& work, const SimulatedMachine& machine, std::int64_t world_size) {
  SimulatedRow row = row_of(work, machine, world_size);
  const double alone = row_of(work, machine, 1).canonical.seconds.total();
  for (SimulatedReduction* const reduction : {&row.canonical, &row.native}) {
    reduction->efficiency = alone / (static_cast<double>(world_size) * reduction->seconds.total());
  }
  return row;
}

}  // namespace samegrad
