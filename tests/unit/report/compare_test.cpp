#include "samegrad/report/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorView view(const std::string& name, const std::vector<float>& values, std::vector<std::int64_t> shape) {
  return {name, TensorType::kFloat32, std::move(shape), std::as_bytes(std::span(values))};
}

TensorView view(const std::string& name, const std::vector<float>& values) {
  return view(name, values, {static_cast<std::int64_t>(values.size())});
}

TensorView view(const std::string& name, const std::vector<double>& values) {
  return {name, TensorType::kFloat64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

// The lesson's size in three parameters, all within +-1.
struct LessonSized {
  std::vector<float> first = numbers(16'384);
  std::vector<float> second = numbers(266'240);
  std::vector<float> third = numbers(4);

  static std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    return values;
  }
  std::vector<TensorView> views() const {
    return {view("position.weight", first, {128, 128}), view("body", second, {266'240}), view("head.bias", third)};
  }
};

TEST(Compare, EqualSetsAreIdentical) {
  const LessonSized set;
  const Comparison comparison = compare_tensors(set.views(), set.views());
  EXPECT_EQ(comparison.elements, 282'628);
  EXPECT_TRUE(comparison.identical());
  EXPECT_EQ(comparison.worst.error, 0.0);
}

TEST(Compare, OneComponentOf282628OutsideIsFoundAndNamed) {
  const LessonSized reference;
  LessonSized changed = reference;
  changed.second[200'003] += 3e-4F;
  const Comparison comparison = compare_tensors(changed.views(), reference.views());
  EXPECT_FALSE(comparison.within_tolerance());
  EXPECT_EQ(comparison.outside, 1);
  EXPECT_EQ(comparison.different, 1);
  EXPECT_EQ(comparison.worst.parameter, "body");
  EXPECT_EQ(comparison.worst.index, 200'003);
  EXPECT_EQ(comparison.worst.value, static_cast<double>(changed.second[200'003]));
  EXPECT_EQ(comparison.worst.reference, static_cast<double>(reference.second[200'003]));
  EXPECT_EQ(comparison.parameters[0].outside, 0);
  EXPECT_EQ(comparison.parameters[1].outside, 1);
}

TEST(Compare, AValueShiftedByOnePlaceIsRejected) {
  const LessonSized reference;
  LessonSized shifted = reference;
  std::rotate(shifted.second.begin(), shifted.second.begin() + 1, shifted.second.end());
  EXPECT_FALSE(compare_tensors(shifted.views(), reference.views()).within_tolerance());
}

TEST(Compare, TheBoundIsAbsolutePlusRelativeTimesReferenceInclusive) {
  // Powers of two: |value - reference| and the bound are exact. 0.25 + 0.5 x 2 = 1.25.
  const Tolerance tolerance{0.25, 0.5};
  const std::vector<double> reference{2.0, -2.0, 0.0};
  EXPECT_EQ(compare_tensors({{view("a", std::vector<double>{3.25, -3.25, 0.25})}}, {{view("a", reference)}}, tolerance)
                .outside,
            0);
  EXPECT_EQ(compare_tensors({{view("a", std::vector<double>{3.25 + 1e-12, -3.25 - 1e-12, -0.25 - 1e-12})}},
                            {{view("a", reference)}}, tolerance)
                .outside,
            3);
}

TEST(Compare, TheRelativePartIsTheReferencesNotTheValues) {
  const Tolerance tolerance{0.0, 0.5};
  const std::vector<double> one{1.0};
  const std::vector<double> two{2.0};
  EXPECT_FALSE(compare_tensors({{view("a", two)}}, {{view("a", one)}}, tolerance).within_tolerance());
  EXPECT_TRUE(compare_tensors({{view("a", one)}}, {{view("a", two)}}, tolerance).within_tolerance());
}

TEST(Compare, WhatIsNotFiniteNeverPasses) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    const std::vector<double> good{1.0, 2.0};
    const std::vector<double> with_bad{1.0, bad};
    const auto outside = [](const std::vector<double>& a, const std::vector<double>& b) {
      return compare_tensors({{view("a", a)}}, {{view("a", b)}});
    };
    for (const Comparison& comparison :
         {outside(with_bad, good), outside(good, with_bad), outside(with_bad, with_bad)}) {
      EXPECT_EQ(comparison.outside, 1);
      EXPECT_FALSE(comparison.within_tolerance());
      EXPECT_FALSE(comparison.identical());
      EXPECT_EQ(comparison.worst.index, 1);
      EXPECT_TRUE(std::isnan(comparison.worst.error));
    }
  }
}

TEST(Compare, NanIsWorseThanTheLargestError) {
  const std::vector<double> reference{0.0, 0.0, 0.0};
  const std::vector<double> values{1e300, kNan, 2e300};
  EXPECT_EQ(compare_tensors({{view("a", values)}}, {{view("a", reference)}}).worst.index, 1);
}

TEST(Compare, MissingExtraRepeatedAndMisshapenNamesAreFailures) {
  const std::vector<float> values{1, 2, 3, 4};
  const std::vector<TensorView> reference{view("a", values, {2, 2}), view("b", values)};
  const auto problem = [&reference](std::vector<TensorView> set) {
    const Comparison comparison = compare_tensors(set, reference);
    EXPECT_FALSE(comparison.within_tolerance());
    return comparison.problems.size() == 1 ? comparison.problems.front() : "not one problem";
  };
  EXPECT_EQ(problem({view("a", values, {2, 2})}), "b: missing");
  EXPECT_EQ(problem({view("a", values, {2, 2}), view("b", values), view("c", values)}), "c: not in the reference");
  EXPECT_EQ(problem({view("a", values, {2, 2}), view("a", values, {2, 2}), view("b", values)}),
            "a: twice in the compared set");
  EXPECT_EQ(problem({view("a", values, {4, 1}), view("b", values)}), "a: shape [4,1], the reference has [2,2]");
}

TEST(Compare, NothingComparedIsNoSuccess) {
  EXPECT_FALSE(compare_tensors({}, {}).within_tolerance());
  const std::vector<float> none;
  EXPECT_FALSE(compare_tensors({{view("a", none)}}, {{view("a", none)}}).within_tolerance());
}

TEST(Compare, TypesThatAreNoFloatsAreRefused) {
  const std::vector<std::int64_t> counts{1};
  const TensorView integer{"n", TensorType::kInt64, {1}, std::as_bytes(std::span(counts))};
  EXPECT_EQ(compare_tensors({{integer}}, {{integer}}).problems.front(), "n: only float32 and float64 are compared");
}

TEST(Compare, NegativeZeroIsWithinToleranceButNotIdentical) {
  const std::vector<float> plus{0.0F, 1.0F};
  const std::vector<float> minus{-0.0F, 1.0F};
  const Comparison comparison = compare_tensors({{view("a", minus)}}, {{view("a", plus)}});
  EXPECT_TRUE(comparison.within_tolerance());
  EXPECT_EQ(comparison.different, 1);
  EXPECT_FALSE(comparison.identical());
}

TEST(Compare, Float32StandsAgainstFloat64) {
  const std::vector<float> narrow{0.1F};
  const std::vector<double> wide{0.1};
  const Comparison comparison = compare_tensors({{view("a", narrow)}}, {{view("a", wide)}});
  // 0.1F is 0.100000001490116...: the exact difference.
  EXPECT_DOUBLE_EQ(comparison.worst.error, 1.4901161138336505e-09);
  EXPECT_TRUE(comparison.within_tolerance());
}

TEST(Compare, JsonAndBackKeepsEverythingEvenNan) {
  const std::vector<double> reference{1.0, 2.0};
  const std::vector<double> values{1.5, kNan};
  const std::vector<TensorView> set{view("a", values), view("b", reference), view("extra", reference)};
  const Comparison comparison = compare_tensors(set, {{view("a", reference), view("b", reference)}});
  const Json json = comparison_to_json(comparison);
  EXPECT_EQ(json.at("worst").at("error"), "NaN");
  const Comparison back = comparison_from_json(Json::parse(json.dump()));
  EXPECT_EQ(comparison_to_json(back), json);
  EXPECT_EQ(back.outside, 2);
  EXPECT_EQ(back.problems, comparison.problems);
  EXPECT_FALSE(back.within_tolerance());
}

TEST(Compare, TwoFilesAreComparedAsTheirTensors) {
  const LessonSized reference;
  LessonSized changed = reference;
  changed.third[3] = 7.0F;
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "samegrad_compare_files";
  write_file_atomically(folder / "reference.safetensors", safetensors_bytes(reference.views()));
  write_file_atomically(folder / "changed.safetensors", safetensors_bytes(changed.views()));
  EXPECT_TRUE(compare_tensor_files(folder / "reference.safetensors", folder / "reference.safetensors").identical());
  const Comparison comparison = compare_tensor_files(folder / "changed.safetensors", folder / "reference.safetensors");
  EXPECT_EQ(comparison.outside, 1);
  EXPECT_EQ(comparison.worst.parameter, "head.bias");
  EXPECT_EQ(comparison.worst.index, 3);
  EXPECT_THROW(compare_tensor_files(folder / "none", folder / "reference.safetensors"), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace samegrad
