// What goes over all elements of a parameter set in a fixed order: norm and hash. Parameter order, gaps of the flat
// layout left out, blocks of 4,096 elements combined by the tree T (docs/exactness.md, rule 5).
#pragma once

#include <span>
#include <string>

#include "samegrad/ddp/flat_parameters.h"

namespace samegrad {

/// Euclidean norm: squares summed in double. NaN or infinite where an element is. Local.
double euclidean_norm(const FlatLayout& layout, std::span<const float> flat);

/// XXH3-128 (32 hexadecimal digits) over the elements' bytes; every NaN counts as the same one. Local.
std::string elements_hash(const FlatLayout& layout, std::span<const float> flat);

/// If `norm` > `max_norm` > 0, multiplies every element by max_norm / norm; returns the factor used (1: untouched).
/// Local.
double clip_by_norm(std::span<float> flat, double norm, double max_norm);

}  // namespace samegrad
