// The exercise's windows for the real model: lesson samples of which only the first few tokens are supervised.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "samegrad/data/sample_source.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// Two atoms, one a rank: a sample with `tokens[0]` supervised tokens and one with `tokens[1]`.
class ExerciseSource final : public SampleSource {
 public:
  /// Throws InputError where `source` has no two samples long enough. Local.
  ExerciseSource(const SampleSource& source, std::array<std::int64_t, 2> tokens);

  std::int64_t size() const override { return 2; }
  Sample sample(std::int64_t id) const override { return samples_[static_cast<std::size_t>(id)]; }
  std::int64_t supervised_tokens(std::int64_t id) const override { return sample(id).supervised_tokens(); }
  std::int64_t input_tokens(std::int64_t id) const override {
    return static_cast<std::int64_t>(sample(id).inputs.size());
  }
  const std::array<Sample, 2>& samples() const { return samples_; }

 private:
  std::array<Sample, 2> samples_;
};

/// Sample 0 is atom 0, sample 1 is atom 1. Local.
PlanWindow exercise_window();

}  // namespace samegrad
