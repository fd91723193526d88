#include "samegrad/plan/sampler_history.h"

#include <gtest/gtest.h>

#include "samegrad/base/check.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

PlanWindow window(std::int64_t update, std::vector<Atom> atoms) {
  return {.update = update, .epoch = 0, .atoms = std::move(atoms)};
}

TEST(SamplerHistory, ContinuedFromItsJsonEqualsTheUninterruptedOne) {
  const std::vector<PlanWindow> windows{window(1, {{1, 2}, {3}, {4, 5}, {6}}), window(2, {{7}, {8}, {9}, {}}),
                                        window(3, {{2}, {}, {}, {}})};
  SamplerHistory whole{.virtual_rank = 1};
  for (const PlanWindow& one : windows) append_window(whole, one, 2);
  EXPECT_EQ(whole.update, 3);
  EXPECT_EQ(whole.samples_consumed, 4);

  SamplerHistory first{.virtual_rank = 1};
  append_window(first, windows[0], 2);
  SamplerHistory resumed = sampler_history_from_json(sampler_history_to_json(first), 1, "rank-1.json");
  EXPECT_EQ(resumed, first);
  append_window(resumed, windows[1], 2);
  append_window(resumed, windows[2], 2);
  EXPECT_EQ(resumed, whole);
}

TEST(SamplerHistory, TellsIdsMicrobatchesAndOrderApart) {
  const auto digest = [](std::vector<Atom> atoms) {
    SamplerHistory history;
    append_window(history, window(1, std::move(atoms)), 2);
    return history.digest;
  };
  const std::string expected = sha256_hex(std::string(64, '0') + "[[1,2],[3]]");
  EXPECT_EQ(digest({{1, 2}, {3}}), expected);
  EXPECT_NE(digest({{2, 1}, {3}}), expected);
  EXPECT_NE(digest({{1}, {2, 3}}), expected);
  EXPECT_NE(digest({{12}, {3}}), expected);
}

TEST(SamplerHistory, TakesWindowsInTheirOrderOnly) {
  SamplerHistory history;
  EXPECT_THROW(append_window(history, window(2, {{1}}), 1), InvariantError);
  append_window(history, window(1, {{1}}), 1);
  EXPECT_THROW(append_window(history, window(1, {{1}}), 1), InvariantError);
}

TEST(SamplerHistory, OfAnotherRankOrDamagedIsRefusedByFile) {
  const Json good = sampler_history_to_json({.virtual_rank = 1, .update = 2, .samples_consumed = 3});
  EXPECT_NO_THROW(sampler_history_from_json(good, 1, "rank-1.json"));
  std::string message;
  try {
    sampler_history_from_json(good, 0, "rank-0.json");
  } catch (const CheckError& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("rank-0.json: history of virtual rank 1, expected 0"), std::string::npos) << message;

  for (const char* name : {"virtual_rank", "update", "samples_consumed", "digest"}) {
    Json damaged = good;
    damaged.erase(name);
    EXPECT_THROW(sampler_history_from_json(damaged, 1, "rank-1.json"), CheckError) << name;
    damaged[name] = -1;
    EXPECT_THROW(sampler_history_from_json(damaged, 1, "rank-1.json"), CheckError) << name;
    damaged[name] = 1.5;
    EXPECT_THROW(sampler_history_from_json(damaged, 1, "rank-1.json"), CheckError) << name;
  }
  EXPECT_THROW(sampler_history_from_json(Json::array(), 1, "rank-1.json"), CheckError);
}

}  // namespace
}  // namespace samegrad
