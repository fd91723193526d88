#include "samegrad/objective/window_units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using Atoms = std::vector<std::vector<UnitRow>>;

/// Three atoms: rows of 2 and 0 tokens; of 3 and 1; of 4. Document 7 has the rows of 2, 1 and 4 tokens: 7 in all.
const Atoms kAtoms{{{2, 7, 0.5}, {0, 7, 0.5}}, {{3, kOwnDocument, 2.0}, {1, 7, 0.5}}, {{4, 7, 0.5}}};

struct Weighed {
  std::vector<AtomUnits> atoms;
  std::int64_t units = 0;
  double weight = 0.0;
  std::vector<double> token_weights;
};

Weighed weigh(const Objective& objective, const Atoms& atoms = kAtoms) {
  WindowUnits window(objective);
  for (std::size_t a = 0; a < atoms.size(); ++a) {
    for (const UnitRow& row : atoms[a]) window.add(static_cast<std::int64_t>(a), row);
  }
  Weighed result;
  for (std::size_t a = 0; a < atoms.size(); ++a) {
    result.atoms.push_back(window.weigh(static_cast<std::int64_t>(a), atoms[a]));
    const AtomUnits& atom = result.atoms.back();
    result.units += atom.units;
    result.weight += atom.weight;
    result.token_weights.insert(result.token_weights.end(), atom.token_weights.begin(), atom.token_weights.end());
  }
  return result;
}

std::string refusal(const Objective& objective, const Atoms& atoms = {}) {
  try {
    weigh(objective, atoms);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(WindowUnits, ATokenWeighsOneAndNothingIsMultiplied) {
  const Weighed window = weigh({});
  EXPECT_EQ(window.units, 10);
  EXPECT_TRUE(window.token_weights.empty());
  EXPECT_FALSE(Objective{}.divides_by_weight());
}

TEST(WindowUnits, ASequencesTokensShareItsWeight) {
  const Weighed window = weigh({.unit = Unit::kSequence});
  EXPECT_EQ(window.units, 4);  // the row without a token is no unit
  const double third = 1.0 / 3;
  EXPECT_EQ(window.token_weights, (std::vector<double>{0.5, 0.5, third, third, third, 1, 0.25, 0.25, 0.25, 0.25}));
  EXPECT_FALSE(Objective{.unit = Unit::kSequence}.divides_by_weight());
}

TEST(WindowUnits, ADocumentsTokensAreCountedInAllAtomsAndTheDocumentOnce) {
  const Weighed window = weigh({.unit = Unit::kDocument});
  EXPECT_EQ(window.units, 2);
  EXPECT_EQ(window.atoms[0].units, 1);
  EXPECT_EQ(window.atoms[1].units, 1);  // the row that is a document by itself
  EXPECT_EQ(window.atoms[2].units, 0);
  EXPECT_EQ(window.token_weights[0], 1.0 / 7);
  EXPECT_EQ(window.token_weights[2], 1.0 / 3);
  EXPECT_EQ(window.token_weights[9], 1.0 / 7);
  // The control: documents counted over an atom's own rows give other weights.
  EXPECT_NE(weigh({.unit = Unit::kDocument}, {kAtoms[0]}).token_weights[0], 1.0 / 7);
}

TEST(WindowUnits, AWeightIsItsUnitsAndNIsTheirTotal) {
  const Weighed token = weigh({.weighted = true});
  EXPECT_EQ(token.token_weights, (std::vector<double>{0.5, 0.5, 2, 2, 2, 0.5, 0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(token.weight, 9.5);
  EXPECT_EQ(token.units, 10);
  EXPECT_EQ(weigh({.unit = Unit::kSequence, .weighted = true}).weight, 0.5 + 2 + 0.5 + 0.5);
  const Weighed document = weigh({.unit = Unit::kDocument, .weighted = true});
  EXPECT_DOUBLE_EQ(document.weight, 2.5);
  EXPECT_GT(document.atoms[2].weight, 0.0);  // an atom with tokens of a weight has work
  EXPECT_EQ(document.token_weights[0], 0.5 * (1.0 / 7));
}

TEST(WindowUnits, WeightsOfRowsAreIgnoredWhereTheObjectiveHasNone) {
  EXPECT_EQ(weigh({.unit = Unit::kSequence}).token_weights[2], 1.0 / 3);
}

TEST(WindowUnits, AClassWeighsATokenAndMultipliesItsRowsWeight) {
  const std::vector<std::int32_t> targets{1, 0, 2};
  const Atoms atoms{{{3, kOwnDocument, 4.0, targets}}};
  const Weighed classes = weigh({.class_weights = {1, 0, 0.25}}, atoms);
  EXPECT_EQ(classes.token_weights, (std::vector<double>{0, 1, 0.25}));
  EXPECT_EQ(classes.weight, 1.25);
  EXPECT_EQ(weigh({.class_weights = {1, 0, 0.25}, .weighted = true}, atoms).weight, 5.0);
  EXPECT_THROW(weigh({.class_weights = {1, 1}}, atoms), InvariantError);
}

TEST(WindowUnits, AConstantIsNOnceAndIsNothingWhereNothingIsSupervised) {
  const Objective constant{.unit = Unit::kConstant, .constant = 48};
  const Weighed window = weigh(constant);
  EXPECT_EQ(window.units, 48);
  EXPECT_EQ(window.atoms[0].units, 48);
  EXPECT_TRUE(window.token_weights.empty());
  EXPECT_EQ(weigh(constant, {{{0}}, {{0}}}).units, 0);
  EXPECT_EQ(weigh(constant, {{{0}}, {{3}}}).atoms[1].units, 48);  // an atom of N has work
  const Objective weighted{.unit = Unit::kConstant, .constant = 48, .weighted = true};
  EXPECT_FALSE(weighted.divides_by_weight());
  EXPECT_EQ(weigh(weighted).token_weights[2], 2.0);
  EXPECT_EQ(weigh(weighted).units, 48);
  EXPECT_EQ(weigh(weighted, {{{3, kOwnDocument, 0.0}}}).units, 0);
}

TEST(WindowUnits, RowsOfOneDocumentWithTwoWeightsAreRefused) {
  const Atoms atoms{{{2, 7, 0.5}}, {{1, 7, 0.25}}};
  EXPECT_NE(refusal({.unit = Unit::kDocument, .weighted = true}, atoms).find("0.500000 (atom 0) and 0.250000 (atom 1)"),
            std::string::npos);
  EXPECT_EQ(refusal({.unit = Unit::kDocument}, atoms), "");
}

TEST(Objective, WhatCannotBeIsRefusedByName) {
  EXPECT_NE(refusal({.unit = Unit::kConstant}).find("at least 1; given is 0"), std::string::npos);
  EXPECT_NE(refusal({.constant = 5}).find("a constant of 5 with unit token"), std::string::npos);
  EXPECT_NE(refusal({.class_weights = {1, -1}}).find("class weight 1 is -1"), std::string::npos);
  EXPECT_NE(refusal({.class_weights = {std::numeric_limits<double>::infinity()}}).find("finite"), std::string::npos);
  EXPECT_NE(refusal({.class_weights = {0, 0}}).find("all 2 class weights are 0"), std::string::npos);
  EXPECT_NE(refusal({.unit = Unit::kSequence, .class_weights = {1}}).find("unit sequence"), std::string::npos);
  for (const char* name : {"token", "sequence", "document", "constant"}) EXPECT_EQ(unit_name(unit_named(name)), name);
  EXPECT_THROW(unit_named("word"), InputError);
}

}  // namespace
}  // namespace samegrad
