#include "samegrad/launch/failure_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

TEST(FailureReport, CarriesExitCodeAndCulpritOfTheErrorFamilies) {
  EXPECT_EQ(failure_report_of(InputError("data", "bad"), 1), (FailureReport{1, 2, "[data] bad", -1}));
  EXPECT_EQ(failure_report_of(CheckError("verify", "bad"), 1), (FailureReport{1, 3, "[verify] bad", -1}));
  EXPECT_EQ(failure_report_of(PeerError("comm", "bad", 4), 1), (FailureReport{1, 1, "[comm] bad", 4}));
  EXPECT_EQ(failure_report_of(std::runtime_error("bad"), 1), (FailureReport{1, 1, "bad", -1}));
}

TEST(FailureReport, SurvivesTheLineWhateverTheMessageHolds) {
  const FailureReport report{3, 2, "[data] \"a\\b\"\n{\t\x01 \xC3\xA4", -1, true};
  const std::string line = failure_report_to_line(report);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(failure_report_from_line(line), report);
}

TEST(FailureReport, ReplacesBytesThatAreNoText) {
  const auto report = failure_report_from_line(failure_report_to_line({0, 1,
                                                                       "a\xFF"
                                                                       "b",
                                                                       -1}));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message,
            "a\xEF\xBF\xBD"
            "b");
}

TEST(FailureReport, FitsIntoAPipeThatNobodyReadsYet) {
  EXPECT_LE(failure_report_to_line({0, 1, std::string(1'000'000, '\x01'), -1}).size(), 65'536U);
}

TEST(FailureReport, IsNotFoundInOtherText) {
  for (const char* text : {"", "x", "[]", "{}", R"({"rank":0})",
                           R"({"rank":"0","exit_code":1,"message":"","culprit_rank":-1,"done":false})",
                           R"({"rank":0,"exit_code":1,"message":"","culprit_rank":-1})"}) {
    EXPECT_FALSE(failure_report_from_line(text)) << text;
  }
}

TEST(FailureReport, IsWrittenOnTheDescriptorOfTheLauncher) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  setenv(kReportVariable, std::to_string(ends[1]).c_str(), 1);
  const FailureReport report{1, 2, "[data] bad", -1};
  ::testing::internal::CaptureStderr();
  write_failure_report(report);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  close(ends[1]);
  std::array<char, 256> text{};
  const ssize_t count = read(ends[0], text.data(), text.size());
  close(ends[0]);
  unsetenv(kReportVariable);
  ASSERT_GT(count, 0);
  EXPECT_EQ(failure_report_from_line({text.data(), static_cast<std::size_t>(count)}), report);
}

TEST(FailureReport, GoesToStandardErrorWhereNoLauncherListens) {
  for (const char* value : {"", "x", "-1", "123456"}) {
    setenv(kReportVariable, value, 1);
    ::testing::internal::CaptureStderr();
    write_failure_report({1, 2, "[data] bad", -1});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[data] bad\n") << value;
  }
  unsetenv(kReportVariable);
  ::testing::internal::CaptureStderr();
  write_failure_report({1, 2, "[data] bad", -1});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[data] bad\n");
}

}  // namespace
}  // namespace samegrad
