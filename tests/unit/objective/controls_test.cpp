#include "samegrad/objective/controls.h"

#include <gtest/gtest.h>

#include <set>

#include "samegrad/base/check.h"

namespace samegrad {
namespace {

/// Two ranks, accumulation 2: 2 + 10 units on rank 0, 6 + 30 on rank 1; one unit more a sample before the shift, of
/// which the atoms have 1, 2, 1 and 4.
const std::vector<AtomCounts> kAtoms{{2, 3}, {10, 12}, {6, 7}, {30, 34}};

/// The gradient that a control makes of per-atom gradient sums.
double wrong_gradient(Control control, const std::vector<AtomCounts>& atoms, std::int64_t accumulation,
                      const std::vector<double>& sums) {
  const std::vector<double> factors = control_factors(control, atoms, accumulation);
  double gradient = 0.0;
  for (std::size_t a = 0; a < sums.size(); ++a) gradient += factors[a] * sums[a];
  return gradient;
}

TEST(Controls, HaveTheFactorsOfTheProgramsThatHadTheBug) {
  const auto factors = [](Control control) { return control_factors(control, kAtoms, 2); };
  EXPECT_EQ(factors(Control::kMeanOfMeans), (std::vector<double>{1.0 / 8, 1.0 / 40, 1.0 / 24, 1.0 / 120}));
  EXPECT_EQ(factors(Control::kExtraAccumulationDivision), std::vector<double>(4, 1.0 / 96));
  EXPECT_EQ(factors(Control::kMissingWorldSize), std::vector<double>(4, 1.0 / 96));
  EXPECT_EQ(factors(Control::kLocalCount), (std::vector<double>{1.0 / 24, 1.0 / 24, 1.0 / 72, 1.0 / 72}));
  EXPECT_EQ(factors(Control::kCountBeforeShift), std::vector<double>(4, 1.0 / 56));
}

// The toy of the counter-example: gradient sums -24 over 12 tokens and +72 over 36; right is +1.
TEST(Controls, MakeTheToysGradientZeroWithTheMeansOfMeans) {
  const std::vector<AtomCounts> atoms{{12, 12}, {36, 36}};
  EXPECT_DOUBLE_EQ(wrong_gradient(Control::kMeanOfMeans, atoms, 1, {-24.0, 72.0}), 0.0);
  EXPECT_DOUBLE_EQ(wrong_gradient(Control::kLocalCount, atoms, 1, {-24.0, 72.0}), 0.0);
  EXPECT_DOUBLE_EQ(wrong_gradient(Control::kMissingWorldSize, atoms, 1, {-24.0, 72.0}), 0.5);
}

// Loss instead of gradient: microbatches of (2 tokens, sum 2) and (6 tokens, sum 18) on one rank: 2.5, and 2 when
// wrong.
TEST(Controls, MakeTheLossOfTwoMicrobatchesTwoInsteadOfTwoAndAHalf) {
  const std::vector<AtomCounts> atoms{{2, 2}, {6, 6}};
  EXPECT_DOUBLE_EQ(wrong_gradient(Control::kMeanOfMeans, atoms, 2, {2.0, 18.0}), 2.0);
  EXPECT_DOUBLE_EQ(wrong_gradient(Control::kLocalCount, atoms, 2, {2.0, 18.0}), 2.5);
  EXPECT_DOUBLE_EQ(wrong_gradient(Control::kExtraAccumulationDivision, atoms, 2, {2.0, 18.0}), 1.25);
}

// Two fully supervised lines of 5 bytes: 8 targets that cost ln 256 each; counted before the shift, 10.
TEST(Controls, CountingBeforeTheShiftMakesTheLossOfTwoLinesTooSmall) {
  const double ln_256 = 5.545177444479562;
  const std::vector<AtomCounts> atoms{{8, 10}};
  EXPECT_DOUBLE_EQ(wrong_gradient(Control::kCountBeforeShift, atoms, 1, {8 * ln_256}), 4.4361419555836498);
}

TEST(Controls, AtomsAndRanksWithoutUnitsGetFactorZero) {
  const std::vector<AtomCounts> atoms{{0, 0}, {0, 0}, {0, 0}, {4, 4}};
  EXPECT_EQ(control_factors(Control::kMeanOfMeans, atoms, 2), (std::vector<double>{0, 0, 0, 1.0 / 16}));
  EXPECT_EQ(control_factors(Control::kLocalCount, atoms, 2), (std::vector<double>{0, 0, 1.0 / 8, 1.0 / 8}));
}

TEST(Controls, ShowOnlyWhereTheyDifferFromTheRightFactor) {
  for (const Control control : kAllControls) {
    EXPECT_TRUE(control_shows(control, kAtoms, 2, 1e-3)) << control_name(control);
    EXPECT_FALSE(control_shows(control, std::vector<AtomCounts>{{5, 5}}, 1, 1e-3)) << control_name(control);
  }
  const std::vector<AtomCounts> equal{{5, 5}, {5, 5}};
  EXPECT_FALSE(control_shows(Control::kMeanOfMeans, equal, 1, 1e-3));
  EXPECT_FALSE(control_shows(Control::kExtraAccumulationDivision, equal, 1, 1e-3));
  EXPECT_TRUE(control_shows(Control::kMissingWorldSize, equal, 1, 1e-3));
}

TEST(Controls, SayWhyTheyCannotShowExactlyWhereTheyCannot) {
  const auto why = [](Control control, const std::vector<AtomCounts>& atoms, std::int64_t accumulation) {
    return why_it_cannot_show(control, atoms, accumulation, 1e-3);
  };
  for (const Control control : kAllControls) {
    EXPECT_EQ(why_it_cannot_show(control, kAtoms, 2, 1e-3), "") << control_name(control);
    EXPECT_NE(why(control, {{5, 5}}, 1), "") << control_name(control);
  }
  EXPECT_NE(why(Control::kMeanOfMeans, {{5, 5}, {5, 5}}, 1).find("same number of units"), std::string::npos);
  EXPECT_EQ(why(Control::kExtraAccumulationDivision, {{5, 5}, {7, 7}}, 1), "the accumulation is 1");
  EXPECT_EQ(why(Control::kMissingWorldSize, {{5, 5}, {7, 7}}, 2), "there is 1 virtual rank");
  EXPECT_NE(why(Control::kLocalCount, {{5, 5}, {7, 7}, {6, 6}, {6, 6}}, 2).find("same number"), std::string::npos);
  EXPECT_NE(why(Control::kCountBeforeShift, {{10'000, 10'001}}, 1).find("too little"), std::string::npos);
}

TEST(Controls, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (const Control control : kAllControls) names.insert(control_name(control));
  EXPECT_EQ(names.size(), kAllControls.size());
}

TEST(Controls, OfAWindowWithoutUnitsOrOfIncompleteRanksBreakAnInvariant) {
  EXPECT_THROW(control_factors(Control::kLocalCount, std::vector<AtomCounts>{{0, 0}}, 1), InvariantError);
  EXPECT_THROW(control_factors(Control::kLocalCount, kAtoms, 3), InvariantError);
}

}  // namespace
}  // namespace samegrad
