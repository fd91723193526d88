#include "samegrad/report/window_findings.h"

#include <gtest/gtest.h>

#include <array>

namespace samegrad {
namespace {

TensorView view(const std::string& name, std::span<const float> values) {
  return {name, TensorType::kFloat32, {static_cast<std::int64_t>(values.size())}, std::as_bytes(values)};
}

TEST(WindowFindings, EqualWindowsHaveNone) {
  WindowFindings findings;
  const PlanWindow window{.update = 3, .epoch = 0, .atoms = {{1, 2}, {}}};
  const std::vector<Sample> samples{{.id = 1, .inputs = {1, 2}, .targets = {2, kIgnoreTarget}}};
  const std::array<float, 2> values{1.0F, 2.0F};
  const std::vector<TensorView> views{view("w", values)};
  findings.compare_plans(window, window);
  findings.compare_samples(0, samples, samples);
  findings.compare_tensors(Part::kGradient, 0, views, views);
  findings.compare_values(Part::kCount, 0, "supervised tokens", "3", "3");
  EXPECT_TRUE(findings.empty());
}

TEST(WindowFindings, AnAtomOfOtherSamplesIsNamedEvenWhereTheShownIdsAreTheSame) {
  PlanWindow a{.update = 1, .epoch = 0, .atoms = {{7}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}};
  PlanWindow b = a;
  b.atoms[1][9] = 10;
  WindowFindings findings;
  findings.compare_plans(a, b);
  ASSERT_EQ(findings.found().size(), 1U);
  EXPECT_EQ(findings.found()[0].part, Part::kPlan);
  EXPECT_EQ(findings.found()[0].atom, 1);
  b.atoms.pop_back();
  WindowFindings fewer;
  fewer.compare_plans(a, b);
  ASSERT_EQ(fewer.found().size(), 1U);
  EXPECT_EQ(fewer.found()[0].text, "atoms of the window 2 / 1");
}

TEST(WindowFindings, ASampleWithOtherTokensOrTargetsIsNamed) {
  const std::vector<Sample> a{{.id = 4, .inputs = {1, 2}, .targets = {2, 3}}, {.id = 9, .inputs = {5}, .targets = {6}}};
  std::vector<Sample> b = a;
  b[0].inputs[1] = 3;
  b[1].targets[0] = kIgnoreTarget;
  WindowFindings findings;
  findings.compare_samples(2, a, b);
  ASSERT_EQ(findings.found().size(), 2U);
  EXPECT_EQ(findings.found()[0].text, "atom 2: sample 4 has other tokens (2 / 2 of them)");
  EXPECT_EQ(findings.found()[1].text, "atom 2: sample 9 has other targets (1 / 0 supervised)");
}

TEST(WindowFindings, TheWorstTensorComesFirstWithItsWorstComponent) {
  const std::array<float, 3> zeros{};
  const std::array<float, 3> small{0.0F, 0.5F, 0.25F};
  const std::array<float, 3> large{0.0F, 0.0F, -2.0F};
  WindowFindings findings;
  findings.compare_tensors(Part::kGradient, 5, std::vector{view("x", zeros), view("y", zeros), view("z", zeros)},
                           std::vector{view("x", small), view("y", zeros), view("z", large)});
  ASSERT_EQ(findings.found().size(), 2U);
  EXPECT_EQ(findings.found()[0].text, "atom 5: z[2] 0 / -2; 1 of 3 components differ");
  EXPECT_EQ(findings.found()[1].text, "atom 5: x[1] 0 / 0.5; 2 of 3 components differ");
  EXPECT_EQ(findings.found()[0].tensor, "z");
}

TEST(WindowFindings, ATensorOfAnotherShapeIsAFindingToo) {
  const std::array<float, 3> values{};
  WindowFindings findings;
  findings.compare_tensors(Part::kParameters, -1, std::vector{view("x", values)},
                           std::vector{view("x", std::span(values).first(2))});
  ASSERT_EQ(findings.found().size(), 1U);
  EXPECT_NE(findings.found()[0].text.find("x: shape [3]"), std::string::npos);
}

TEST(WindowFindings, CausesComeBeforeEffectsWhateverWasFoundFirst) {
  WindowFindings findings;
  findings.compare_values(Part::kLearningRate, -1, "learning rate", "1", "2");
  findings.compare_values(Part::kCount, 0, "supervised tokens", "1", "2");
  EXPECT_EQ(findings.found().front().part, Part::kCount);
}

TEST(WindowFindings, ThousandsOfAtomsAreCountedAndNotKept) {
  WindowFindings findings;
  for (std::int64_t atom = 0; atom < 5000; ++atom) {
    findings.compare_values(Part::kCount, atom, "supervised tokens", "1", "2");
  }
  EXPECT_EQ(findings.found().size(), WindowFindings::kMostOfAPart);
  EXPECT_EQ(findings.more(Part::kCount), 5000 - static_cast<std::int64_t>(WindowFindings::kMostOfAPart));
}

}  // namespace
}  // namespace samegrad
