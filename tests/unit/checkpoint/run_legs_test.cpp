#include "samegrad/checkpoint/run_legs.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

Manifest saved_by(const Json& leg, std::int64_t update) {
  return {.update = update, .run_id = "r", .facts = {{"leg", leg}}, .files = {}};
}

TEST(RunLegs, AResumeFromTheNewestTakesNothingBack) {
  RunLegs legs;
  const std::string first = legs.begin(0);
  const std::string second = legs.begin(5);
  EXPECT_NE(first, second);
  for (std::int64_t update = 0; update <= 5; ++update) EXPECT_EQ(legs.taken_back(saved_by(first, update)), "");
  EXPECT_EQ(legs.taken_back(saved_by(second, 5)), "");
  EXPECT_EQ(legs.taken_back(saved_by(second, 9)), "");
}

TEST(RunLegs, AResumeFromAnOlderOneTakesBackWhatCameAfterItAndNothingThatComesLater) {
  RunLegs legs;
  const std::string first = legs.begin(0);
  const std::string second = legs.begin(4);
  const std::string third = legs.begin(2);
  EXPECT_EQ(legs.taken_back(saved_by(first, 2)), "");
  EXPECT_EQ(legs.taken_back(saved_by(first, 3)), "of a part of the run that a resume from update 2 took back");
  EXPECT_NE(legs.taken_back(saved_by(second, 6)), "");
  EXPECT_EQ(legs.taken_back(saved_by(third, 6)), "");
  const std::string fourth = legs.begin(6);
  EXPECT_EQ(legs.taken_back(saved_by(third, 6)), "");
  EXPECT_NE(legs.taken_back(saved_by(second, 6)), "")
      << "the leg is forgotten, its checkpoint is not taken for another's";
  EXPECT_EQ(legs.taken_back(saved_by(fourth, 7)), "");
  EXPECT_EQ(legs.to_json().size(), 3U);
}

TEST(RunLegs, ACheckpointWithoutALegIsOlderThanAllOfThem) {
  RunLegs legs;
  EXPECT_EQ(legs.taken_back(saved_by(nullptr, 9)), "");
  legs.begin(4);
  for (const Json& leg : {Json(), Json(3), Json("unknown"), Json::array()}) {
    EXPECT_EQ(legs.taken_back(saved_by(leg, 4)), "");
    EXPECT_NE(legs.taken_back(saved_by(leg, 5)), "");
  }
  EXPECT_NE(legs.taken_back({.update = 5, .run_id = "r", .facts = "text", .files = {}}), "");
}

TEST(RunLegs, AreReadBackAndAnythingElseIsRefused) {
  RunLegs legs;
  legs.begin(0);
  const std::string second = legs.begin(7);
  const RunLegs read = RunLegs::from_json(Json::parse(legs.to_json().dump()));
  EXPECT_EQ(read.to_json(), legs.to_json());
  EXPECT_EQ(read.taken_back(saved_by(second, 9)), "");
  for (const char* text : {"3", "[3]", R"([{"id":3,"from":0}])", R"([{"id":"a","from":-1}])", R"([{"id":"a"}])",
                           R"([{"id":"a","from":1.5}])", R"({"id":"a","from":1})"}) {
    EXPECT_THROW(RunLegs::from_json(Json::parse(text)), Json::exception) << text;
  }
}

}  // namespace
}  // namespace samegrad
