#include "samegrad/report/diagnose.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using Values = std::vector<double>;

// Owns what its view looks at.
struct Set {
  std::vector<std::string> names{};
  std::vector<Values> values{};

  void add(const std::string& name, Values numbers) {
    names.push_back(name);
    values.push_back(std::move(numbers));
  }
  std::vector<TensorView> views() const {
    std::vector<TensorView> result;
    for (std::size_t t = 0; t < names.size(); ++t) {
      result.push_back({names[t], TensorType::kFloat64, {std::ssize(values[t])}, std::as_bytes(std::span(values[t]))});
    }
    return result;
  }
};

Set random_set(std::uint32_t seed, std::size_t elements = 40) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Set set;
  for (const auto& [name, scale] : {std::pair{"large", 10.0}, std::pair{"small", 1e-3}}) {
    Values values(elements);
    for (double& value : values) value = scale * normal(engine);
    set.add(name, std::move(values));
  }
  return set;
}

// weights[i] x sets[i], added.
Set combined(const std::vector<Set>& sets, const Values& weights) {
  Set result = sets.front();
  for (std::size_t t = 0; t < result.values.size(); ++t) {
    for (std::size_t i = 0; i < result.values[t].size(); ++i) {
      double sum = 0.0;
      for (std::size_t k = 0; k < sets.size(); ++k) sum += weights[k] * sets[k].values[t][i];
      result.values[t][i] = sum;
    }
  }
  return result;
}

Diagnosis diagnose(const Set& a, const Set& b, const RunNumbers& numbers = {}, const std::vector<Set>& ranks = {}) {
  std::vector<std::vector<TensorView>> views;
  for (const Set& rank : ranks) views.push_back(rank.views());
  return diagnose_tensors(a.views(), b.views(), views, numbers);
}

std::vector<Pattern> patterns(const Diagnosis& diagnosis) {
  std::vector<Pattern> found;
  for (const Finding& finding : diagnosis.findings) found.push_back(finding.pattern);
  return found;
}

using Found = std::vector<Pattern>;

constexpr RunNumbers kNone{};
const RunNumbers kKnown{.world_size = 3, .accumulation = 4, .samples = 10, .rank_tokens = {100, 300, 600}};

TEST(Diagnose, EachRatioIsNamedByItsNumber) {
  const Set b = random_set(1);
  const std::vector<std::pair<double, Pattern>> cases{{3.0, Pattern::kExtraWorldSize},
                                                      {1.0 / 3, Pattern::kMissingWorldSize},
                                                      {4.0, Pattern::kMissingAccumulationDivision},
                                                      {0.25, Pattern::kExtraAccumulationDivision},
                                                      {1000.0 / 1010, Pattern::kCountBeforeShift},
                                                      {10.0, Pattern::kLocalCount},
                                                      {0.6, Pattern::kRankShare},
                                                      {5.0, Pattern::kSmallIntegerRatio},
                                                      {1.0 / 7, Pattern::kSmallIntegerRatio},
                                                      {0.731, Pattern::kConstantRatio},
                                                      {-1.0, Pattern::kConstantRatio},
                                                      {1000.0 / 1011, Pattern::kConstantRatio}};
  for (const auto& [factor, pattern] : cases) {
    EXPECT_EQ(patterns(diagnose(combined({b}, {factor}), b, kKnown)), Found{pattern}) << factor;
  }
}

TEST(Diagnose, WithoutNumbersARatioIsAnIntegerOfMediumConfidence) {
  const Set b = random_set(1);
  const Diagnosis diagnosis = diagnose(combined({b}, {0.25}), b);
  ASSERT_EQ(patterns(diagnosis), Found{Pattern::kSmallIntegerRatio});
  EXPECT_EQ(diagnosis.findings[0].confidence, Confidence::kMedium);
  EXPECT_DOUBLE_EQ(diagnosis.ratio.value(), 0.25);
}

TEST(Diagnose, ConfidenceFallsWithWhatThePatternLeaves) {
  const Set b = random_set(1, 4000);
  const Set noise = random_set(2, 4000);
  const auto found = [&](double part) { return diagnose(combined({b, noise}, {2.0, part}), b, {.world_size = 2}); };
  EXPECT_EQ(found(0.005).findings.at(0).confidence, Confidence::kHigh);
  EXPECT_EQ(found(0.02).findings.at(0).confidence, Confidence::kMedium);
  EXPECT_EQ(found(0.07).findings.at(0).confidence, Confidence::kLow);
  EXPECT_EQ(patterns(found(0.2)), Found{});
}

TEST(Diagnose, CombinationsOfRanksAreNamedByTheirWeights) {
  const std::vector<Set> ranks{random_set(1), random_set(2), random_set(3)};
  const Set b = combined(ranks, {0.1, 0.3, 0.6});
  const auto found = [&](const Values& weights) {
    return patterns(diagnose(combined(ranks, weights), b, kKnown, ranks));
  };
  EXPECT_EQ(found({1.0 / 3, 1.0 / 3, 1.0 / 3}), Found{Pattern::kMeanOfMeans});
  EXPECT_EQ(found({1.0, 1.0, 1.0}), Found{Pattern::kSumOfMeans});
  EXPECT_EQ(found({0.0, 0.7, 0.0}), Found{Pattern::kOneRankOnly});
  EXPECT_EQ(found({0.2, 0.3, 0.5}), Found{Pattern::kRankWeights});
  EXPECT_EQ(found({0.1 / 3, 0.3 / 3, 0.6 / 3}), Found{Pattern::kMissingWorldSize});
  const Diagnosis weights = diagnose(combined(ranks, {0.2, 0.3, 0.5}), b, kNone, ranks);
  ASSERT_EQ(weights.weights_a.size(), 3U);
  EXPECT_NEAR(weights.weights_a[1], 0.3, 1e-9);
  EXPECT_NEAR(weights.weights_b[2], 0.6, 1e-9);
}

TEST(Diagnose, RanksThatDependOnOneAnotherAreSaidSo) {
  const Set rank = random_set(1);
  const Set other = random_set(2);
  const Diagnosis diagnosis = diagnose(other, rank, kNone, {rank, combined({rank}, {2.0})});
  EXPECT_EQ(patterns(diagnosis), Found{});
  ASSERT_EQ(diagnosis.notes.size(), 1U);
  EXPECT_NE(diagnosis.notes[0].find("depend on one another"), std::string::npos);
}

TEST(Diagnose, RoundingIsSmallAndPullsNowhere) {
  const Set b = random_set(1, 1000);
  const Set noise = random_set(2, 1000);
  EXPECT_EQ(patterns(diagnose(b, b)), Found{Pattern::kIdentical});
  const Diagnosis rounded = diagnose(combined({b, noise}, {1.0, 1e-15}), b);
  EXPECT_EQ(patterns(rounded), Found{Pattern::kRounding});
  EXPECT_TRUE(rounded.same());
  // As small, and all to one side.
  EXPECT_EQ(patterns(diagnose(combined({b}, {1 + 1e-14}), b)), Found{Pattern::kConstantRatio});
  // float32's rounding is no rounding of float64, and is one of float32.
  EXPECT_EQ(patterns(diagnose(combined({b, noise}, {1.0, 1e-7}), b)), Found{});
  Set single = b;
  for (Values& values : single.values) {
    for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  }
  EXPECT_EQ(patterns(diagnose(single, b)), Found{Pattern::kRounding});
  // One component too far.
  single.values[1][7] *= 1.01;
  EXPECT_EQ(patterns(diagnose(single, b)), Found{});
}

TEST(Diagnose, AMistakeInASmallTensorIsNotHiddenByALargeOne) {
  const Set b = random_set(1, 1000);
  Set a = b;
  for (double& value : a.values[1]) value *= 1.5;
  const Diagnosis diagnosis = diagnose(a, b, {.world_size = 2});
  EXPECT_EQ(patterns(diagnosis), Found{});
  ASSERT_EQ(diagnosis.worst.size(), 1U);
  EXPECT_EQ(diagnosis.worst[0].name, "small");
  EXPECT_NEAR(diagnosis.worst[0].relative, 0.5, 1e-12);
}

TEST(Diagnose, AFewComponentsNameNothing) {
  Set a;
  Set b;
  a.add("w", {6.0, 0.3, -0.2, 0.1, 0.0, 0.1, 0.2, 0.1, 0.1});
  b.add("w", {3.0, -0.1, 0.1, 0.1, 0.2, 0.0, 0.1, -0.1, 0.0});
  const Diagnosis diagnosis = diagnose(a, b, {.world_size = 2});
  EXPECT_EQ(patterns(diagnosis), Found{});
  EXPECT_NE(diagnosis.notes.at(0).find("Too few components"), std::string::npos);
}

TEST(Diagnose, ASmallMultipleOfALargeReferenceIsNoPattern) {
  const Set a = combined({random_set(1, 1000)}, {1e-2});
  EXPECT_EQ(patterns(diagnose(a, random_set(2, 1000), {.world_size = 64})), Found{});
  EXPECT_EQ(patterns(diagnose(combined({a}, {0.0}), a, {.world_size = 64})), Found{});
  EXPECT_EQ(patterns(diagnose(a, combined({a}, {0.0}), {.world_size = 64})), Found{});
}

TEST(Diagnose, AHundredUnrelatedPairsHaveNoName) {
  for (std::uint32_t pair = 0; pair < 100; ++pair) {
    const std::size_t elements = 1 + pair % 50;
    const std::vector<Set> ranks{random_set(4000 + pair, elements), random_set(5000 + pair, elements),
                                 random_set(6000 + pair, elements)};
    const Set b = combined(ranks, {0.1, 0.3, 0.6});
    const Set other = random_set(3000 + pair, elements);
    // Alone, and much like B: the more, the later the pair.
    EXPECT_EQ(patterns(diagnose(other, b, kKnown, ranks)), Found{}) << pair;
    EXPECT_EQ(patterns(diagnose(combined({b, other}, {1.0, 1.0 / (1 + pair)}), b, kKnown, ranks)), Found{}) << pair;
  }
}

TEST(Diagnose, TensorsThatDoNotMatchAreListedAndTheOthersCompared) {
  const Set b = random_set(1);
  Set a = combined({b}, {3.0});
  a.names[1] = "renamed";
  const Diagnosis diagnosis = diagnose(a, b, kKnown);
  EXPECT_EQ(diagnosis.problems, (std::vector<std::string>{"renamed: not in the reference", "small: missing"}));
  EXPECT_EQ(patterns(diagnosis), Found{Pattern::kExtraWorldSize});
  a.values[0] = b.values[0];
  EXPECT_FALSE(diagnose(a, b).same());
}

TEST(Diagnose, PrefixesOfWrappersAreIgnored) {
  const Set b = random_set(1);
  Set a = b;
  for (std::string& name : a.names) name = "module._orig_mod." + name;
  EXPECT_TRUE(diagnose(a, b).same());
  a.names[0] = b.names[0];
  EXPECT_EQ(diagnose(a, b).problems.size(), 2U);
}

TEST(Diagnose, NumbersThatAreNotFiniteAreAProblem) {
  const Set b = random_set(1);
  Set a = b;
  a.values[1][5] = std::numeric_limits<double>::quiet_NaN();
  const Diagnosis diagnosis = diagnose(a, b, kKnown);
  EXPECT_EQ(diagnosis.problems, std::vector<std::string>{"small[5]: not finite in A"});
  EXPECT_EQ(patterns(diagnosis), Found{});
  EXPECT_THROW(diagnose(b, b, kNone, {a}), InputError);
}

TEST(Diagnose, CountsThatContradictAreRefused) {
  const Set b = random_set(1);
  EXPECT_THROW(diagnose(b, b, {.world_size = 2, .rank_tokens = {1, 2, 3}}), InputError);
  EXPECT_THROW(diagnose(b, b, {.rank_tokens = {1, 2, 3}}, {b, b}), InputError);
  EXPECT_THROW(diagnose(b, b, {.world_size = 2}, {b}), InputError);
}

TEST(Diagnose, TextAndJsonSayThePattern) {
  const Set b = random_set(1);
  const Diagnosis diagnosis = diagnose(combined({b}, {0.25}), b, kKnown);
  const std::string text = diagnosis_text(diagnosis, {});
  EXPECT_NE(text.find("extra-accumulation-division"), std::string::npos);
  EXPECT_NE(text.find("high: explains 100.00 % of the difference"), std::string::npos);
  const Json json = diagnosis_to_json(diagnosis);
  EXPECT_EQ(json["findings"][0]["pattern"], "extra-accumulation-division");
  EXPECT_EQ(json["same"], false);
  EXPECT_NE(diagnosis_text(diagnose(random_set(2), b), {}).find("no known pattern"), std::string::npos);
}

TEST(Diagnose, TextTellsTheFirstProblemsOfManyAndJsonAll) {
  Diagnosis diagnosis;
  for (int i = 0; i < 1'020; ++i) diagnosis.problems.push_back("t" + std::to_string(i) + ": missing");
  const std::string text = diagnosis_text(diagnosis, {});
  EXPECT_NE(text.find("t19: missing"), std::string::npos);
  EXPECT_EQ(text.find("t20: missing"), std::string::npos);
  EXPECT_NE(text.find("1,000 more"), std::string::npos) << text;
  EXPECT_EQ(diagnosis_to_json(diagnosis)["problems"].size(), 1'020U);
}

}  // namespace
}  // namespace samegrad
