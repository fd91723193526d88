// The machine of a simulation.
#pragma once

#include <cstdint>

namespace samegrad {

/// A message of n bytes takes latency + n / bandwidth.
struct SimulatedLink {
  double bytes_per_second = 0.0;
  double latency_seconds = 0.0;
};

struct SimulatedMachine {
  double flops = 1e11;             ///< of a rank, in matrix products, per second
  double memory_bandwidth = 1e10;  ///< bytes per second of a rank
  std::int64_t ranks_per_host = 8;
  SimulatedLink host{1e10, 2e-6};       ///< between ranks of one host; each rank has this bandwidth
  SimulatedLink network{1.25e9, 3e-5};  ///< between hosts; the ranks of a host share this bandwidth
};

}  // namespace samegrad
