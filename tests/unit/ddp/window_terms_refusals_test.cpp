// Loss terms that cannot be, or differ between ranks, or do not fit what the callables return: an error on all ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "tests/unit/ddp/terms_trial.h"

namespace samegrad::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(WindowTerms, ThatDifferBetweenRanksAreRefusedByAllNamingBoth) {
  const auto on_rank_1 = [](const std::function<void(LossTerm&)>& change) {
    return Trial{.change = [change](WindowRequest& request, int rank) {
      if (rank == 1) change(request.terms[1]);
    }};
  };
  EXPECT_THAT(errors_of({2, 4}, on_rank_1([](LossTerm& term) { term.name = "other"; })),
              Each(HasSubstr("ranks differ in loss term 1: rank 0 has aux (weights), rank 1 has other (weights)")));
  EXPECT_THAT(errors_of({2, 4}, on_rank_1([](LossTerm& term) { term.empty = EmptyTermPolicy::kDrop; })),
              Each(HasSubstr("rank 0 has aux (weights), rank 1 has aux (weights, empty: drop)")));
  EXPECT_THAT(errors_of({2, 4}, on_rank_1([](LossTerm& term) { term.weights.reset(); })),
              Each(HasSubstr("rank 0 has aux (weights), rank 1 has aux (units)")));
  const Trial constant{.change = [](WindowRequest& request, int rank) { request.terms[2].constant = 7.0 + rank; }};
  EXPECT_THAT(errors_of({2, 4}, constant),
              Each(HasSubstr("rank 0 has fixed (constant 7), rank 1 has fixed (constant 8)")));
}

TEST(WindowTerms, ThatCannotBeAreRefusedOnAllRanksNamingTheTerm) {
  const auto refused = [](const std::function<void(WindowRequest&)>& change) {
    return errors_of({2, 4}, Trial{.change = [change](WindowRequest& request, int rank) {
                       if (rank == 1) change(request);
                     }});
  };
  const std::string who = "rank 1, update 3: ";
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[0].count = -2; }),
              Each(HasSubstr(who + "loss term lm: .count is -2")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[1].weights->pop_back(); }),
              Each(HasSubstr(who + "loss term aux: 3 weights for 4 atoms")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].constant = 0.0; }),
              Each(HasSubstr(who + "loss term fixed: the constant is 0;")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].count = 5; }), Each(HasSubstr("a constant and a count")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[3].count = 5; }), Each(HasSubstr("a regularizer is not divided")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].name = "lm"; }), Each(HasSubstr("have the name lm")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].name = std::string(32, 'x'); }), Each(HasSubstr("1 to 31")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms.resize(9, {.name = "more"}); }),
              Each(HasSubstr("9 loss terms, allowed are 8")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.count = 5; }), Each(HasSubstr("terms and a count")));
}

TEST(WindowTerms, WhoseTotalWeightOverflowsAreRefusedOnAllRanks) {
  const Trial trial{.change = [](WindowRequest& request, int) {
    for (double& weight : *request.terms[1].weights) weight = std::numeric_limits<double>::max();
  }};
  EXPECT_THAT(errors_of({2, 4}, trial), Each(HasSubstr("loss term aux: its total weight is above")));
}

TEST(WindowTerms, WithSumsThatDoNotFitThemAreAnErrorOnAllRanks) {
  const auto errors = [](const std::function<void(std::vector<at::Tensor>&, std::int64_t)>& change_sums) {
    return errors_of({2, 4}, Trial{.change_sums = change_sums});
  };
  EXPECT_THAT(errors([](auto& sums, std::int64_t atom) { sums.resize(atom == 4 ? 3 : 4); }),
              Each(HasSubstr("atom 4: the callable returned 3 sums for the 4 loss terms lm, aux, fixed, l2")));
  EXPECT_THAT(errors([](auto& sums, std::int64_t) { sums[3] = at::Tensor(); }),
              Each(HasSubstr("atom 0: the regularizer l2 is undefined")));
  EXPECT_THAT(errors([](auto& sums, std::int64_t atom) { sums[0] = atom < 2 ? sums[0] : at::Tensor(); }),
              Each(HasSubstr("rank 1, update 3: loss term lm has a count of")));
  EXPECT_THAT(errors([](auto& sums, std::int64_t atom) {
                if (atom == 5) sums[1] = at::ones({2});
              }),
              Each(HasSubstr("rank 1, update 3, atom 5: the callable returned a tensor of 2 elements")));
  EXPECT_THAT(errors([](auto&, std::int64_t atom) {
                if (atom == 1) throw std::runtime_error("out of ideas");
              }),
              Each(HasSubstr("rank 0, update 3, atom 1: out of ideas")));
}

}  // namespace
}  // namespace samegrad::testing
