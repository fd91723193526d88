// What a user may choose about DistributedDataParallel. The first block changes what is computed, the second only how
// fast or how watchful it is. Names as in torch.nn.parallel.DistributedDataParallel where it has the thing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/objective/scale.h"

namespace samegrad {

/// In which order an exchange outside a Window adds the ranks' gradients.
enum class ReductionOrder {
  kCanonical,  ///< the fixed tree over ranks: the same bits for every backend and bucket layout
  kNative,     ///< the backend's own all-reduce (gloo); bits then depend on the backend, and the log says so once
};

/// Whether buckets leave for the exchange while backward still runs.
enum class Overlap { kAuto, kOn, kOff };

/// The same on all ranks, which compare them at construction (agreed_options.h), but for gradient_as_bucket_view and
/// timeout.
struct DistributedDataParallelOptions {
  // What is computed.
  /// kMean: the mean over ranks, as in PyTorch; kSum: their sum. Windows ignore it.
  GradientReduction reduction = GradientReduction::kMean;
  /// kNative can be faster between hosts; a run is then no longer equal bit for bit on another backend.
  ReductionOrder order = ReductionOrder::kCanonical;
  /// Rank 0's buffers go to all ranks before each training forward, but only before the first of an accumulation with
  /// no_sync, and once before evaluation and saving. False: each rank keeps its own until then. Costs a broadcast of
  /// all buffers.
  bool broadcast_buffers = true;
  /// False: a parameter without a gradient at the end of backward is an error on all ranks, naming it. True: it takes
  /// part with zeros, and keeps an undefined gradient where no rank used it. Costs nothing here: no graph is searched.
  bool find_unused_parameters = false;
  /// The same parameters are used, as often, in every backward: learned in the first one, and an error naming the
  /// parameter where a later one differs. Allows unused parameters, and parameters used several times with overlap.
  bool static_graph = false;
  /// Before each atom of a window ATen's default generator is keyed by this, the update and the atom, so that dropout
  /// and the like do not depend on the number of ranks. Unset: the generator is left alone.
  std::optional<std::uint64_t> window_seed = 0;
  /// Rank 0's parameters and buffers go to all ranks at construction. False: the caller says that they are equal.
  bool init_sync = true;

  // How fast, how watchful.
  double bucket_cap_mb = 25.0;   ///< MiB of gradients exchanged in one call; a larger parameter has a bucket of its own
  double first_bucket_mb = 1.0;  ///< of the bucket that is ready first (of the last parameters)
  /// .grad are views into the buckets, so gradients are stored once. False: twice, and .grad keeps its own memory.
  bool gradient_as_bucket_view = true;
  /// kAuto: off on shared memory and, for all ranks, where those of some host have less than two cores each; the choice
  /// is logged.
  Overlap overlap = Overlap::kAuto;
  /// Parameters, by name, whose gradients leave together after all others, when backward has ended.
  std::vector<std::string> delay_all_reduce = {};
  /// Every so many exchanges, and every so many windows, all ranks compare a hash of their parameters; a difference is
  /// an error on all ranks, naming the first parameter that differs. 0: never. Costs one pass over the parameters each
  /// time.
  std::int64_t check_sync_every = 100;
  /// Bounds each wait for another rank; above 0.
  std::chrono::milliseconds timeout{1'800'000};
};

}  // namespace samegrad
