#include "samegrad/comm/dispatch.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using namespace std::chrono_literals;
using testing::nothing_thrown;
using testing::run_ranks;

Dispatch some_dispatch() {
  Dispatch dispatch;
  for (const DispatchFact& fact : kDispatchFacts) dispatch.at(fact.name) = "some " + std::string(fact.name);
  return dispatch;
}

TEST(Dispatch, EachFactHasItsOwnNameAndPlaceInTheRecord) {
  const Json json = dispatch_to_json(some_dispatch());
  std::set<std::string> values;
  for (const auto& [name, value] : json.items()) values.insert(value.get<std::string>());
  EXPECT_EQ(values.size(), kDispatchFacts.size());
  EXPECT_EQ(json["mkl_cbwr"], "some mkl_cbwr");
}

TEST(Dispatch, ARecordOfTheSameValuesIsEqual) {
  EXPECT_TRUE(compare_dispatch(dispatch_to_json(some_dispatch()), some_dispatch()).equal());
}

TEST(Dispatch, EveryFactThatDiffersIsNamedWithBothValues) {
  for (const DispatchFact& fact : kDispatchFacts) {
    Dispatch here = some_dispatch();
    here.at(fact.name) = "another";
    const DispatchComparison comparison = compare_dispatch(dispatch_to_json(some_dispatch()), here);
    ASSERT_EQ(comparison.differing.size(), 1U) << fact.name;
    EXPECT_EQ(comparison.differing[0].name, fact.name);
    EXPECT_EQ(comparison.differing[0].recorded, "some " + std::string(fact.name));
    EXPECT_EQ(comparison.differing[0].here, "another");
    EXPECT_TRUE(comparison.unknown.empty());
  }
}

TEST(Dispatch, WhatARecordDoesNotSayIsUnknownAndNotEqual) {
  Json partial = dispatch_to_json(some_dispatch());
  partial.erase("libc");
  partial["mkl_threads"] = 1;
  const DispatchComparison comparison = compare_dispatch(partial, some_dispatch());
  EXPECT_TRUE(comparison.differing.empty());
  EXPECT_EQ(comparison.unknown, (std::vector<std::string>{"mkl_threads", "libc"}));
  for (const Json& nothing : {Json(nullptr), Json("text"), Json::array(), Json::object()}) {
    EXPECT_EQ(compare_dispatch(nothing, some_dispatch()).unknown.size(), kDispatchFacts.size());
  }
}

TEST(Dispatch, EqualRanksGoOn) {
  EXPECT_EQ(run_ranks(3, [](Communicator& comm) { refuse_unequal_dispatch(comm, some_dispatch(), 20s); }),
            nothing_thrown(3));
}

TEST(Dispatch, ARankThatDiffersIsRefusedByAllWithOneLine) {
  for (const DispatchFact& fact : kDispatchFacts) {
    const std::vector<std::string> errors = run_ranks(3, [&](Communicator& comm) {
      Dispatch mine = some_dispatch();
      if (comm.rank() == 2) mine.at(fact.name) = "another";
      refuse_unequal_dispatch(comm, mine, 20s);
    });
    const std::string name(fact.name);
    EXPECT_EQ(
        errors[0].find("[dispatch] ranks differ in " + name + ": rank 0 has some " + name + ", rank 2 has another; "),
        0U)
        << errors[0];
    EXPECT_EQ(errors, std::vector<std::string>(3, errors[0]));
  }
}

}  // namespace
}  // namespace samegrad
