// A set of samples by id 0..size-1, however it is stored.
#pragma once

#include <cstdint>

#include "samegrad/data/sample.h"

namespace samegrad {

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::int64_t size() const = 0;
  /// The sample with this id (0 <= id < size()). Local; may read the file.
  virtual Sample sample(std::int64_t id) const = 0;
  /// Number of supervised tokens of the sample, without building it.
  virtual std::int64_t supervised_tokens(std::int64_t id) const = 0;
  /// Number of input tokens of the sample, without building it.
  virtual std::int64_t input_tokens(std::int64_t id) const = 0;
  /// Whether sample() waits for no disk: nothing is gained by reading ahead.
  virtual bool is_in_memory() const { return false; }
  /// Whether samples have weights: some sample was given one.
  virtual bool weighted() const { return false; }
  /// The sample's Sample::weight and Sample::document, without building it.
  virtual double weight(std::int64_t /*id*/) const { return 1.0; }
  virtual std::uint64_t document(std::int64_t /*id*/) const { return 0; }
};

}  // namespace samegrad
