#include "samegrad/data/data_lock.h"

#include <functional>

#include "tests/unit/data/data_fixture.h"

namespace samegrad {
namespace {

class Lock : public DataFixture {
 protected:
  const DataLock lock_{
      .task = "text",
      .splits = {{"train", {.samples = 3, .tokens = 30, .supervised_tokens = 20, .bytes = 400, .sha256 = "aa"}},
                 {"validation", {.samples = 1, .tokens = 5, .supervised_tokens = 4, .bytes = 50, .sha256 = "bb"}}}};
};

TEST_F(Lock, ReadsBackAndHoldsItsDigest) {
  write_json_file(folder_ / "lock.json", to_json(lock_));
  EXPECT_EQ(read_data_lock(folder_ / "lock.json"), lock_);
  EXPECT_EQ(to_json(lock_).at("digest"), lock_.digest());
  EXPECT_EQ(to_json(lock_).at("splits").at("train").at("supervised_tokens"), 20);
}

TEST_F(Lock, DamagedIsRefusedAsDamage) {
  const auto refused = [&](const std::function<void(Json&)>& damage) {
    Json json = to_json(lock_);
    damage(json);
    return refusal<CheckError>([&] { data_lock_from_json(json, "lock.json"); });
  };
  EXPECT_TRUE(contains(refused([](Json& json) { json["splits"]["train"]["samples"] = 4; }), "its digest is"));
  EXPECT_TRUE(contains(refused([](Json& json) { json["task"] = "lesson"; }), "its digest is"));
  EXPECT_TRUE(contains(refused([](Json& json) { json["splits"].erase("validation"); }), "its digest is"));
  EXPECT_TRUE(contains(refused([](Json& json) { json.erase("task"); }), "lock.json: the data lock is damaged"));
  EXPECT_TRUE(contains(refused([](Json& json) { json["splits"]["train"]["sha256"] = 5; }), "damaged"));
  EXPECT_TRUE(contains(refused([](Json& json) { json["format"] = 2; }), "format 2"));
  EXPECT_TRUE(contains(refused([](Json& json) { json = Json::array(); }), "damaged"));
}

TEST_F(Lock, MissingIsAnInputError) {
  EXPECT_TRUE(contains(refusal([&] { read_data_lock(folder_ / "none.json"); }), "none.json"));
}

TEST_F(Lock, ComparisonNamesTheSplitAndBothValues) {
  EXPECT_NO_THROW(compare_data_locks(lock_, lock_));
  const auto refused = [&](const std::function<void(DataLock&)>& change) {
    DataLock now = lock_;
    change(now);
    EXPECT_NE(now.digest(), lock_.digest());
    return refusal([&] { compare_data_locks(lock_, now); });
  };
  EXPECT_TRUE(contains(refused([](DataLock& now) { now.splits[0].second.samples = 4; }), "train samples was 3, is 4"));
  EXPECT_TRUE(
      contains(refused([](DataLock& now) { now.splits[1].second.sha256 = "cc"; }), "validation sha256 was bb, is cc"));
  EXPECT_TRUE(
      contains(refused([](DataLock& now) { now.splits[0].second.bytes = 401; }), "train bytes was 400, is 401"));
  EXPECT_TRUE(contains(refused([](DataLock& now) { now.splits[0].second.tokens = 31; }), "train tokens was 30, is 31"));
  EXPECT_TRUE(contains(refused([](DataLock& now) { now.splits[0].second.supervised_tokens = 2; }),
                       "train supervised tokens was 20, is 2"));
  EXPECT_TRUE(
      contains(refused([](DataLock& now) { now.splits.pop_back(); }), "the splits was train, validation, is train"));
  EXPECT_TRUE(contains(refused([](DataLock& now) { now.task = "lesson"; }), "data.task was text, is lesson"));
}

}  // namespace
}  // namespace samegrad
