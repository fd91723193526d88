#include "samegrad/base/philox.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

// Known answers of Random123 (kat_vectors, philox4x32 10), by the authors of the paper.
TEST(Philox, EqualsThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsAndSeedsHaveTheirOwnKeys) {
  EXPECT_NE(philox_key(42, PhiloxStream::kLessonData), philox_key(42, PhiloxStream::kDropout));
  EXPECT_NE(philox_key(1, PhiloxStream::kDropout), philox_key(1ULL << 32, PhiloxStream::kDropout));
}

TEST(Philox, UnitFloatsLieBelowOne) {
  EXPECT_EQ(philox_unit_float(0), 0.0F);
  EXPECT_EQ(philox_unit_float(~0U), 1.0F - 0x1.0p-24F);
  EXPECT_EQ(philox_unit_float(1U << 31), 0.5F);
}

}  // namespace
}  // namespace samegrad
