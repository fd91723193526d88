// How much memory a rank will need, before it is asked for.
#pragma once

#include <cstdint>

#include "samegrad/config/run_config.h"

namespace samegrad {

/// Bytes of one rank.
struct MemoryEstimate {
  std::int64_t parameters = 0;
  std::int64_t optimizer = 0;
  std::int64_t gradients = 0;    ///< the atom being computed, the subtrees waiting for their partners, the result
  std::int64_t activations = 0;  ///< of one atom: what forward keeps for backward, and attention's working memory

  std::int64_t total() const { return parameters + optimizer + gradients + activations; }
};

/// An estimate from sizes alone, float32: `parameters` elements, atoms of at most `atom_tokens` tokens in sequences of
/// at most `longest_sequence`. libtorch itself and the operating system's buffers come on top. Local.
MemoryEstimate estimate_memory(const RunConfig& config, std::int64_t parameters, std::int64_t atom_tokens,
                               std::int64_t longest_sequence);

}  // namespace samegrad
