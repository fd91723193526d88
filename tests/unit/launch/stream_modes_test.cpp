#include "samegrad/launch/stream_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StreamModes, OneNumberIsForAllRanksAndPairsAreByRank) {
  EXPECT_THAT(parse_stream_modes("--tee", "", 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(parse_stream_modes("--tee", "3", 3), ElementsAre(3, 3, 3));
  EXPECT_THAT(parse_stream_modes("--tee", "0:1,2:3", 3), ElementsAre(1, 0, 3));
}

TEST(StreamModes, AnythingElseIsRefusedWithTheForms) {
  for (const char* text : {"4", "-1", "x", "0:4", "3:1", "0:1,", "0:1,2", ":", "1:"}) {
    try {
      parse_stream_modes("--redirects", text, 3);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("[usage] --redirects: '") + text + "'; allowed: 0 none, 1 "));
    }
  }
}

}  // namespace
}  // namespace samegrad
