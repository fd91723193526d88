#include "samegrad/data/packed_batch.h"

#include <algorithm>

namespace samegrad {

std::int64_t PackedBatch::supervised_tokens() const {
  return std::count_if(targets.begin(), targets.end(), [](std::int64_t t) { return t != kIgnoreTarget; });
}

bool PackedBatch::has_loss() const {
  if (weights.empty()) return supervised_tokens() > 0;
  return std::any_of(weights.begin(), weights.end(), [](double weight) { return weight > 0.0; });
}

PackedBatch pack(std::span<const Sample> samples) {
  PackedBatch batch;
  batch.offsets.push_back(0);
  for (const Sample& sample : samples) {
    if (sample.inputs.empty()) {
      continue;
    }
    batch.inputs.insert(batch.inputs.end(), sample.inputs.begin(), sample.inputs.end());
    batch.targets.insert(batch.targets.end(), sample.targets.begin(), sample.targets.end());
    batch.offsets.push_back(batch.tokens());
  }
  return batch;
}

}  // namespace samegrad
