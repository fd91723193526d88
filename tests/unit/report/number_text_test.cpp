#include "samegrad/report/number_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace samegrad {
namespace {

TEST(NumberText, GroupsThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(282628), "282,628");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(NumberText, WritesScientificWithoutPadding) {
  EXPECT_EQ(scientific(3.73e-8, 3), "3.73e-8");
  EXPECT_EQ(scientific(0.02157, 3), "2.16e-2");
  EXPECT_EQ(scientific(-1.5e-110, 2), "-1.5e-110");
  EXPECT_EQ(scientific(0.0, 3), "0");
  EXPECT_EQ(scientific(std::numeric_limits<double>::quiet_NaN(), 3), "nan");
  EXPECT_EQ(scientific(std::numeric_limits<double>::infinity(), 3), "inf");
}

TEST(NumberText, ShortestReadsBackToTheSameDouble) {
  for (const double value : {0.1, 1e-6, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, 123456789.125}) {
    EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value) << shortest(value);
  }
  EXPECT_EQ(shortest(1e-6), "1e-6");
  EXPECT_EQ(shortest(0.1), "0.1");
}

TEST(NumberText, WritesTheLargestDoubleInFull) {
  EXPECT_EQ(fixed(std::numeric_limits<double>::max(), 5).size(), 309U + 6U);
}

TEST(NumberText, ScalesBytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1572864), "1.5 MiB");
  EXPECT_EQ(bytes_text(1024 * 1024 - 1), "1.0 MiB");
}

TEST(NumberText, SaysDurationsInTheUnitThatFits) {
  EXPECT_EQ(duration_text(0.0042), "4.2 ms");
  EXPECT_EQ(duration_text(0.042), "42 ms");
  EXPECT_EQ(duration_text(0.9999), "1.0 s");
  EXPECT_EQ(duration_text(3.21), "3.2 s");
  EXPECT_EQ(duration_text(59.99), "1 min 00 s");
  EXPECT_EQ(duration_text(75), "1 min 15 s");
  EXPECT_EQ(duration_text(4000), "1 h 06 min");
  EXPECT_EQ(duration_text(400000), "111 h");
  EXPECT_EQ(duration_text(-1), "?");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "?");
}

}  // namespace
}  // namespace samegrad
