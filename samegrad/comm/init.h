// How a program that uses samegrad as a library becomes one of several ranks.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "samegrad/comm/world.h"

namespace samegrad {

/// Without `rank` and `world_size`, the place comes from the launcher.
struct InitOptions {
  std::optional<int> rank{};        ///< 0..world_size-1
  std::optional<int> world_size{};  ///< 1 to 256
  /// Where ranks with an explicit place meet: "tcp://HOST:PORT" or "HOST:PORT", where rank 0 listens, or "file:///PATH"
  /// for ranks of one host: a file that is not there yet, and goes when all have met.
  std::string rendezvous{};
  std::string backend = "auto";                  ///< auto: shared memory on one host, else gloo; or shm, or gloo
  std::chrono::milliseconds timeout{1'800'000};  ///< of each wait for another rank, here and in the World
};

/// The ranks of this run. The place is, in this order: what `options` say; what `samegrad launch` handed over; RANK,
/// WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them; what mpirun, mpiexec or srun say; else one process.
///
/// Call it first in main(): it sets OMP_NUM_THREADS, MKL_NUM_THREADS and MKL_CBWR where they are not set, lets ATen
/// compute in one thread. Where that came too late on a rank, or ranks differ in what decides bits (processor,
/// libraries), rank 0 warns once that bits are not promised. It installs no signal handlers and never ends the process.
///
/// A rank whose process ends, by whatever way (return, exit(), an exception that nobody catches, a signal), leaves
/// nobody waiting: the others' calls throw a PeerError that names it.
///
/// Throws InputError where the place is incomplete or contradicts itself, or ranks on several hosts are to share
/// memory; PeerError naming a rank that does not come within the timeout; RunError. Collective.
World init(const InitOptions& options = {});

}  // namespace samegrad
