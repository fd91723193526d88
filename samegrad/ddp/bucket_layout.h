// Which gradients are exchanged together outside a Window. The layout is a function of the parameters and options
// alone, and stays as it is: bits, where they depend on it at all, cannot change between two backward passes.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace samegrad {

/// What the layout needs to know of a parameter.
struct BucketParameter {
  std::string name;
  at::ScalarType dtype = at::ScalarType::Float;
  std::int64_t elements = 0;
  bool delayed = false;  ///< leaves after all that are not
};

struct BucketPlace {
  std::size_t parameter = 0;  ///< index in the parameters
  std::int64_t offset = 0;    ///< in elements, at a multiple of 64 bytes
};

/// Gradients of one dtype in one block of memory.
struct BucketLayout {
  at::ScalarType dtype = at::ScalarType::Float;
  std::vector<BucketPlace> places;
  std::int64_t elements = 0;  ///< gaps included
  bool delayed = false;
};

struct BucketLimits {
  std::int64_t first_bytes = 0;  ///< of the first bucket of each dtype
  std::int64_t bytes = 0;        ///< of the others; a larger parameter has a bucket of its own
};

/// Parameters from the last to the first, as backward makes their gradients, into buckets of one dtype; a bucket is
/// full when the next parameter would not fit. Buckets are in the order in which their last gradient is made, delayed
/// ones after all others. Local.
std::vector<BucketLayout> lay_out_buckets(std::span<const BucketParameter> parameters, const BucketLimits& limits);

/// One line a bucket: dtype, bytes, parameters. Local.
std::string describe_buckets(std::span<const BucketParameter> parameters, std::span<const BucketLayout> buckets);

}  // namespace samegrad
