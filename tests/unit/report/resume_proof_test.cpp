#include "samegrad/report/resume_proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace samegrad {
namespace {

using Fields = std::vector<std::string>;

Json line(std::int64_t update, const std::string& chain) {
  return {{"run_id", "r"},  {"kind", "continuous"},     {"update", update},    {"loss_sum", 1.5},
          {"seconds", 0.1}, {"tokens_per_second", 9.0}, {"hash_chain", chain}, {"ranks", Json::array({1})}};
}

UpdateLines two_updates() { return {{1, line(1, "a")}, {2, line(2, "b")}}; }

TEST(RunDivergence, TimesKindsAndSharesOfRanksMayDiffer) {
  UpdateLines other = two_updates();
  for (auto& [update, fields] : other) {
    fields["run_id"] = "s";
    fields["kind"] = "resumed";
    fields["seconds"] = 7.0;
    fields["tokens_per_second"] = 1.0;
    fields["ranks"] = Json::array({1, 2});
  }
  EXPECT_EQ(first_divergence(two_updates(), other, 2), std::nullopt);
}

TEST(RunDivergence, TheFirstUpdateAndItsFieldsAreNamed) {
  UpdateLines other = two_updates();
  other[2]["loss_sum"] = std::nextafter(1.5, 2.0);
  other[2]["hash_chain"] = "c";
  EXPECT_EQ(first_divergence(two_updates(), other, 2), (RunDivergence{2, {"loss_sum", "hash_chain"}}));
  EXPECT_EQ(first_divergence(two_updates(), other, 1), std::nullopt);
}

TEST(RunDivergence, AFieldThatOnlyOneHasAndALineThatIsMissingDiffer) {
  UpdateLines other = two_updates();
  other[1]["buffers"] = "x";
  EXPECT_EQ(first_divergence(two_updates(), other, 2), (RunDivergence{1, {"buffers"}}));
  EXPECT_EQ(first_divergence(other, two_updates(), 2), (RunDivergence{1, {"buffers"}}));
  other = two_updates();
  other.erase(2);
  EXPECT_EQ(first_divergence(two_updates(), other, 2), (RunDivergence{2, {}}));
  EXPECT_EQ(first_divergence(other, two_updates(), 2), (RunDivergence{2, {}}));
}

TEST(RunDivergence, AValidationIsComparedWhereBothHaveOne) {
  UpdateLines reference = two_updates();
  UpdateLines other = two_updates();
  reference[2]["validation"] = {{"loss_sum", 3.0}};
  EXPECT_EQ(first_divergence(reference, other, 2), std::nullopt);
  EXPECT_EQ(first_divergence(other, reference, 2), std::nullopt);
  other[2]["validation"] = {{"loss_sum", 3.5}};
  EXPECT_EQ(first_divergence(reference, other, 2), (RunDivergence{2, {"validation"}}));
}

TEST(RunDivergence, LinesAreTakenFromOneRunOnly) {
  const std::vector<Json> lines{line(1, "a"), {{"run_id", "s"}, {"update", 1}}, {{"run_id", "r"}}, line(2, "b")};
  EXPECT_EQ(lines_of_run(lines, "r"), two_updates());
}

ResumeProof proof_that_fails() {
  ScheduleOutcome reference{
      .schedule = {"shm", {{1, 12}}}, .updates = 12, .final_parameters = "aa", .hash_chain = "bb"};
  ScheduleOutcome wrong{.schedule = {"shm", {{2, 4}, {3, 12}}}, .updates = 12};
  wrong.divergence = RunDivergence{5, {"parameters_xxh3", "hash_chain"}};
  wrong.repeated = true;
  wrong.different = 1234;
  wrong.elements = 282628;
  wrong.parameter = ComponentError{.parameter = "head.bias", .index = 3, .value = 0.5, .reference = 0.25};
  return {.updates = 12, .total_updates = 100, .outcomes = {reference, wrong}};
}

std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

TEST(ResumeProof, ASchedulesTextSaysWhoTrainsHowFar) {
  EXPECT_EQ(schedule_text({"shm", {{2, 4}, {3, 8}, {1, 12}}}), "2 to 4, 3 to 8, 1 to 12");
}

TEST(ResumeProof, ADifferenceIsToldWithUpdateFieldsParameterAndBothValues) {
  const std::string text = in_one_line(resume_proof_text(proof_that_fails(), {}));
  EXPECT_NE(text.find("differs from update 5"), std::string::npos);
  EXPECT_NE(
      text.find("2 to 4, 3 to 12: differs first at update 5, the first after the stop at 4, in parameters_xxh3, "
                "hash_chain. Parameters after update 5: 1,234 of 282,628 components have other bits; the furthest "
                "is head.bias, component 3: 0.5 instead of 0.25."),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("1 of 2 runs are not the reference."), std::string::npos);
}

TEST(ResumeProof, WhatIsNotThereTheSecondTimeIsSaid) {
  ResumeProof proof = proof_that_fails();
  proof.outcomes[1].repeated = false;
  EXPECT_NE(in_one_line(resume_proof_text(proof, {})).find("something on this machine does not repeat itself"),
            std::string::npos);
}

TEST(ResumeProof, EqualParametersOfADifferentUpdateAreSaid) {
  ResumeProof proof = proof_that_fails();
  proof.outcomes[1].parameter.reset();
  EXPECT_NE(in_one_line(resume_proof_text(proof, {})).find("The parameters after update 5 still have the same bits."),
            std::string::npos);
}

TEST(ResumeProof, OneDifferenceIsEnough) {
  ResumeProof proof = proof_that_fails();
  EXPECT_FALSE(proof.holds());
  const Json json = resume_proof_to_json(proof);
  EXPECT_EQ(json["holds"], false);
  EXPECT_EQ(json["schedules"][1]["first_difference"]["update"], 5);
  EXPECT_EQ(json["schedules"][1]["first_difference"]["worst"]["parameter"], "head.bias");
  proof.outcomes.pop_back();
  EXPECT_TRUE(proof.holds());
  EXPECT_FALSE(resume_proof_to_json(proof)["schedules"][0].contains("first_difference"));
}

}  // namespace
}  // namespace samegrad
