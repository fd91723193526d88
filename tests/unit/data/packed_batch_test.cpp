#include "samegrad/data/packed_batch.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

Sample sample_of(std::vector<std::int32_t> inputs, std::vector<std::int32_t> targets) {
  Sample sample;
  sample.inputs = std::move(inputs);
  sample.targets = std::move(targets);
  return sample;
}

TEST(PackedBatch, HoldsSamplesInTheGivenOrderAndLeavesOutThoseWithoutInputs) {
  const std::vector<Sample> samples = {sample_of({3, 1, 2}, {7, kIgnoreTarget, 9}), sample_of({}, {}),
                                       sample_of({5}, {kIgnoreTarget}), sample_of({8, 6}, {1, 0})};
  const PackedBatch batch = pack(samples);
  EXPECT_EQ(batch.inputs, (std::vector<std::int64_t>{3, 1, 2, 5, 8, 6}));
  EXPECT_EQ(batch.targets, (std::vector<std::int64_t>{7, -100, 9, -100, 1, 0}));
  EXPECT_EQ(batch.offsets, (std::vector<std::int64_t>{0, 3, 4, 6}));
  EXPECT_EQ(batch.samples(), 3);
  EXPECT_EQ(batch.tokens(), 6);
  EXPECT_EQ(batch.supervised_tokens(), 4);
}

TEST(PackedBatch, OfNothingHasNoSampleAndNoToken) {
  const PackedBatch batch = pack({});
  EXPECT_EQ(batch.samples(), 0);
  EXPECT_EQ(batch.tokens(), 0);
  EXPECT_EQ(batch.supervised_tokens(), 0);
}

}  // namespace
}  // namespace samegrad
