#include "samegrad/report/verification.h"

#include <gtest/gtest.h>

#include <array>

#include "samegrad/report/display_width.h"

namespace samegrad {
namespace {

using Gradient = std::array<double, 4>;
constexpr Gradient kReference{0.5, -0.25, 1e-3, 0.0};

Comparison compared(const Gradient& values, const Tolerance& tolerance) {
  const auto view = [](const Gradient& gradient) {
    return TensorView{"head.weight", TensorType::kFloat64, {2, 2}, std::as_bytes(std::span(gradient))};
  };
  return compare_tensors(std::array{view(values)}, std::array{view(kReference)}, tolerance);
}

Gradient with_error(double error) {
  Gradient values = kReference;
  values[2] += error;
  return values;
}

ControlOutcome control(const std::string& name, double error) {
  return {{name, compared(with_error(error), Tolerance{})}, ""};
}

// Two processes with 12 and 36 tokens; everything as it must be.
VerificationInput good() {
  const LossSum loss{120.0, 48};
  return {.update = 7,
          .total_updates = 100,
          .weights = "initial, outputs/init.safetensors",
          .parameters = 4,
          .virtual_ranks = 2,
          .accumulation = 2,
          .dropout = 0.1,
          .float32 = {loss, loss, compared(with_error(1e-9), Tolerance{})},
          .float64 = {loss, loss, compared(with_error(1e-17), kFloat64Tolerance)},
          .ranks = {{2, 8, 12}, {2, 8, 36}},
          .controls = {control("mean-of-means", 0.02), {{"local-count", {}}, "every rank has 24 tokens"}}};
}

std::vector<std::string> failed(const VerificationInput& input) {
  const Verification verification = judge_verification(input);
  std::vector<std::string> names;
  for (const CheckResult& check : verification.checks) {
    if (!check.holds) names.push_back(check.name);
  }
  EXPECT_EQ(verification.exit_code(), names.empty() ? ExitCode::kDone : ExitCode::kCheckFailed);
  return names;
}

using Names = std::vector<std::string>;

TEST(Verification, HoldsWhereBothPrecisionsAgreeAndEveryControlThatShowsIsRejected) {
  EXPECT_EQ(failed(good()), Names{});
  EXPECT_EQ(judge_verification(good()).checks.size(), 5) << "a control that cannot show is not judged";
}

TEST(Verification, FailsWhereAControlIsWithinTheTolerance) {
  VerificationInput input = good();
  input.controls.push_back(control("missing-world-size", 1e-7));
  EXPECT_EQ(failed(input), Names{"control: missing-world-size"});
  EXPECT_NE(verification_text(judge_verification(input), {}).find("too small for the check"), std::string::npos);
}

TEST(Verification, FailsWhereAControlWasComparedWithNothingThoughItShows) {
  VerificationInput input = good();
  input.controls.push_back({{"missing-world-size", {}}, ""});
  EXPECT_EQ(failed(input), Names{"control: missing-world-size"});
}

TEST(Verification, OnlyTheFloat64CheckSeesAnErrorOfABillionth) {
  VerificationInput input = good();
  input.float32.gradient = compared(with_error(1e-9), Tolerance{});
  input.float64.gradient = compared(with_error(1e-9), kFloat64Tolerance);
  EXPECT_EQ(failed(input), Names{"gradient, float64"});
}

TEST(Verification, FailsWhereNotEveryComponentWasCompared) {
  VerificationInput input = good();
  input.parameters = 5;
  EXPECT_EQ(failed(input), (Names{"gradient, float32", "gradient, float64"}));
}

TEST(Verification, FailsWhereLossesOrCountsDiffer) {
  VerificationInput input = good();
  input.float64.loss.sum += 1e-9;
  EXPECT_EQ(failed(input), Names{"loss, float64"});
  input = good();
  input.float32.loss.count += 1;
  EXPECT_EQ(failed(input), Names{"loss, float32"});
  input.float32.loss = input.float32.reference = {120.0, 48, 30.0};
  EXPECT_EQ(failed(input), Names{});
  input.float32.loss.count = 0;  // where N is a weight, the number of units is no part of it
  EXPECT_EQ(failed(input), Names{});
  input.float32.loss = {120.0 * (1 + 1e-9), 48, 30.0 * (1 + 1e-9)};  // the same mean over another N
  EXPECT_EQ(failed(input), Names{"loss, float32"});
}

TEST(Verification, TextBeginsWithTheVerdict) {
  EXPECT_TRUE(verification_text(judge_verification(good()), {}).starts_with("Verified: the gradient of 2 processes"));
  VerificationInput input = good();
  input.float64.gradient = compared(with_error(1e-9), kFloat64Tolerance);
  EXPECT_TRUE(verification_text(judge_verification(input), {}).starts_with("NOT verified: "));
}

TEST(Verification, TextSaysWhatATokenOfARankWouldCountInAMeanOfMeans) {
  const std::string text = verification_text(judge_verification(good()), {});
  EXPECT_NE(text.find("25.00 %             50.00 %  2.00 times as much"), std::string::npos) << text;
  EXPECT_NE(text.find("75.00 %             50.00 %  0.67 times as much"), std::string::npos) << text;
}

TEST(Verification, TextSaysThatDropoutIsOffWhichControlsCannotShowAndWhy) {
  const std::string text = verification_text(judge_verification(good()), {});
  EXPECT_NE(text.find("0.1 in the config; off in everything compared here"), std::string::npos) << text;
  EXPECT_NE(text.find("local-count  every rank has 24 tokens"), std::string::npos) << text;
}

TEST(Verification, NamesARankWithoutTokensAsWhatMakesAMeanOfMeansNan) {
  VerificationInput input = good();
  input.ranks = {{2, 8, 0}, {2, 8, 48}};
  const std::string text = verification_text(judge_verification(input), {});
  EXPECT_NE(text.find("NaN: a mean of no tokens"), std::string::npos) << text;
}

TEST(Verification, LinesFitTheTerminal) {
  const std::string text = verification_text(judge_verification(good()), {.cells = 100});
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(display_width(text.substr(begin, end - begin)), 100) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(Verification, JsonCarriesTheSameNumbers) {
  const Json json = verification_to_json(judge_verification(good()));
  EXPECT_EQ(json["holds"], true);
  EXPECT_EQ(json["window"]["update"], 7);
  EXPECT_EQ(json["ranks"][0]["share"], 0.25);
  EXPECT_EQ(json["ranks"][0]["share_in_a_mean_of_means"], 0.5);
  EXPECT_EQ(json["float64"]["gradient"]["atol"], 1e-12);
  EXPECT_EQ(json["controls"][0]["rejected"], true);
  EXPECT_EQ(json["controls"][0]["outside"], 1);
  EXPECT_NEAR(json["controls"][0]["times_tolerance"].get<double>(), 0.02 / (1e-6 + 1e-4 * 1e-3), 1e-6);
  EXPECT_EQ(json["controls"][1]["why_not"], "every rank has 24 tokens");
}

}  // namespace
}  // namespace samegrad
