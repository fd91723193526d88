// What goes over all elements of a parameter set in a fixed order: norm and hash. Parameter order, gaps of the flat
// layout left out, blocks of 4,096 elements combined by the tree T (docs/exactness.md, "Claim", step 5).
#pragma once

#include <span>
#include <string>

#include "samegrad/ddp/flat_parameters.h"

namespace samegrad {

struct NormAndHash {
  double norm = 0.0;  ///< Euclidean: squares summed in double. NaN or infinite where an element is
  std::string hash;   ///< as elements_hash
};

/// Both in one pass over memory. Local.
NormAndHash norm_and_hash(const FlatLayout& layout, std::span<const float> flat);

/// XXH3-128 (32 hexadecimal digits) over the elements' bytes; every NaN counts as the same one. Local.
std::string elements_hash(const FlatLayout& layout, std::span<const float> flat);

/// What a gradient of norm `norm` is multiplied by: max_norm / norm where norm > max_norm > 0, else 1. Local.
double clip_factor(double norm, double max_norm);

}  // namespace samegrad
