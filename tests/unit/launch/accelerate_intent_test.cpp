#include "samegrad/launch/accelerate_intent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

const Variables kOneProcess{{"ACCELERATE_MIXED_PRECISION", "no"}, {"MASTER_ADDR", "127.0.0.1"}};

std::optional<int> wanted(const Words& words, const Variables& variables = kOneProcess) {
  return processes_wanted_of_accelerate(
      [&](const std::string& name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      words);
}

std::string refusal(const Words& words) {
  try {
    wanted(words);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(AccelerateIntent, FindsTheNumberThatWasWantedHoweverItIsWritten) {
  EXPECT_EQ(wanted({"python", "accelerate", "launch", "--num_processes", "4", "samegrad", "train"}), 4);
  EXPECT_EQ(wanted({"accelerate", "launch", "--num-processes", "3"}), 3);
  EXPECT_EQ(wanted({"accelerate", "launch", "--num_processes=2"}), 2);
  EXPECT_EQ(wanted({"accelerate", "launch", "--num-processes=5", "--num-machines=1"}), 5);
}

TEST(AccelerateIntent, SaysNothingWhereAccelerateStartedNobodyOrAllOrWantedOne) {
  const Words words{"accelerate", "launch", "--num_processes", "4"};
  EXPECT_EQ(wanted(words, {}), std::nullopt);
  EXPECT_EQ(wanted(words, {{"MASTER_ADDR", "a"}}), std::nullopt);
  EXPECT_EQ(wanted(words, {{"ACCELERATE_MIXED_PRECISION", "no"}}), std::nullopt);
  Variables ranked = kOneProcess;
  ranked["RANK"] = "0";
  EXPECT_EQ(wanted(words, ranked), std::nullopt);
}

TEST(AccelerateIntent, RefusesToRunAloneWhereTheNumberCannotBeKnown) {
  EXPECT_THAT(refusal({"accelerate", "launch"}), HasSubstr("started one process, but several were wanted: give"));
  EXPECT_THAT(refusal({"sh", "-c", "samegrad train"}), HasSubstr("--multi_gpu"));
  EXPECT_THAT(refusal({"accelerate", "--num_processes"}), HasSubstr("several were wanted"));
  EXPECT_THAT(refusal({"accelerate", "--num_processes", "x"}), HasSubstr("several were wanted"));
  EXPECT_THAT(refusal({"accelerate", "--num_processes", "4", "--num_machines", "2"}), HasSubstr("on 2 machines"));
}

TEST(AccelerateIntent, ReadsTheParentsWords) { EXPECT_FALSE(parent_command().empty()); }

}  // namespace
}  // namespace samegrad
