// Samples of which only the lengths matter: what a plan asks of its data.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "samegrad/data/sample_source.h"

namespace samegrad {

class LengthSource : public SampleSource {
 public:
  explicit LengthSource(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(lengths_.size()); }
  Sample sample(std::int64_t id) const override {
    const auto length = static_cast<std::size_t>(input_tokens(id));
    return {.id = id, .inputs = std::vector<std::int32_t>(length, 1), .targets = std::vector<std::int32_t>(length, 0)};
  }
  std::int64_t supervised_tokens(std::int64_t id) const override { return input_tokens(id); }
  std::int64_t input_tokens(std::int64_t id) const override { return lengths_.at(static_cast<std::size_t>(id)); }

 private:
  std::vector<std::int64_t> lengths_;
};

}  // namespace samegrad
