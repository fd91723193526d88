// Expected values by hand from the definitions of warm-up, linear and cosine decay.
#include "samegrad/train/schedule.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

TEST(Schedule, ConstantStaysAtTheConfiguredRate) {
  EXPECT_EQ(learning_rate_at(1, 100, 0.3, {}), 0.3);
  EXPECT_EQ(learning_rate_at(100, 100, 0.3, {}), 0.3);
}

TEST(Schedule, WarmUpRisesLinearlyToTheFullRate) {
  const ScheduleConfig schedule{.kind = "linear", .warmup_updates = 4, .minimum_factor = 0.0};
  EXPECT_DOUBLE_EQ(learning_rate_at(1, 12, 0.8, schedule), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(4, 12, 0.8, schedule), 0.8);
}

TEST(Schedule, LinearReachesTheMinimumAtTheLastStep) {
  const ScheduleConfig schedule{.kind = "linear", .warmup_updates = 4, .minimum_factor = 0.5};
  EXPECT_DOUBLE_EQ(learning_rate_at(8, 12, 0.8, schedule), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate_at(12, 12, 0.8, schedule), 0.4);
}

TEST(Schedule, CosineIsHalfWayDownInTheMiddle) {
  const ScheduleConfig schedule{.kind = "cosine", .warmup_updates = 0, .minimum_factor = 0.0};
  EXPECT_NEAR(learning_rate_at(5, 10, 1.0, schedule), 0.5, 1e-15);
  EXPECT_NEAR(learning_rate_at(10, 10, 1.0, schedule), 0.0, 1e-15);
}

TEST(Schedule, StaysAtTheMinimumPastTheLastStep) {
  const ScheduleConfig schedule{.kind = "cosine", .warmup_updates = 0, .minimum_factor = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate_at(20, 10, 1.0, schedule), 0.1);
}

}  // namespace
}  // namespace samegrad
