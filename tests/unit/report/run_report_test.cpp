#include "samegrad/report/run_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "samegrad/report/display_width.h"

namespace samegrad {
namespace {

constexpr std::int64_t kParameters = 282'628;

Comparison comparison(std::int64_t outside, double error) {
  Comparison result;
  result.elements = kParameters;
  result.outside = outside;
  result.different = error == 0.0 ? 0 : 7;
  result.worst = {"head.weight", 12, 1.0 + error, 1.0, error, 1.01e-4};
  return result;
}

// A lesson in which everything is as it must be.
RunReportInput good_lesson() {
  RunReportInput input;
  input.run_id = "r1";
  input.task = "lesson";
  input.parameters = kParameters;
  input.expected_parameters = kParameters;
  input.gradient = comparison(0, 3.73e-8);
  input.lesson_form = comparison(0, 4e-8);
  input.controls = {{"mean-of-means", comparison(250'000, 0.02157)}};
  input.resume = ResumeFacts{50, 100, comparison(0, 0.0), 50, std::nullopt};
  input.evaluations = {{"validation", {11'870.0, 9'121}, 128, 3300, 2400, {}},
                       {"test", {23'978.1, 18'231}, 256, 6603, 4700, 0.10}};
  input.zero_window = ZeroWindowFacts{2, 2, "0 supervised tokens in all ranks", true, true};
  input.files = {"outputs/report.json"};
  input.figures = {"outputs/figures/loss.svg"};
  return input;
}

std::vector<std::string> failed(const RunReport& report) {
  std::vector<std::string> names;
  for (const CheckResult& check : report.checks) {
    if (!check.holds) names.push_back(check.name);
  }
  return names;
}

TEST(RunReport, AGoodLessonHoldsAndEndsWithZero) {
  const RunReport report = judge_run(good_lesson());
  EXPECT_EQ(failed(report), std::vector<std::string>{});
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.exit_code(), ExitCode::kDone);
}

struct Fault {
  const char* what;
  std::string failed_check;
  std::function<void(RunReportInput&)> inject;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.what; }  // NOLINT: GoogleTest's name

class RunReportFault : public testing::TestWithParam<Fault> {};

// The control of every check: with one fault, exactly that check fails, and the exit code is 3.
TEST_P(RunReportFault, IsNamedAndEndsWithThree) {
  RunReportInput input = good_lesson();
  GetParam().inject(input);
  const RunReport report = judge_run(std::move(input));
  EXPECT_EQ(failed(report), std::vector<std::string>{GetParam().failed_check}) << GetParam().what;
  EXPECT_EQ(report.exit_code(), ExitCode::kCheckFailed);
  const std::string text = run_report_text(report, {});
  EXPECT_NE(text.find("FAIL  "), std::string::npos);
  EXPECT_NE(text.find("1 of 10 checks does not hold"), std::string::npos) << text;
  EXPECT_EQ(run_report_to_json(report).at("holds"), false);
}

Comparison with_problem(Comparison comparison) {
  comparison.problems = {"head.bias: missing"};
  return comparison;
}

INSTANTIATE_TEST_SUITE_P(
    Each, RunReportFault,
    testing::Values(
        Fault{"another model", "model parameters", [](RunReportInput& i) { i.expected_parameters = 1; }},
        Fault{"one component outside", "gradient", [](RunReportInput& i) { i.gradient = comparison(1, 1e-3); }},
        Fault{"a parameter not compared", "gradient",
              [](RunReportInput& i) { i.gradient = with_problem(comparison(0, 1e-8)); }},
        Fault{"fewer elements than the model has", "gradient", [](RunReportInput& i) { i.gradient->elements -= 4; }},
        Fault{"lesson's form outside", "gradient, mean of W x S_r / N",
              [](RunReportInput& i) { i.lesson_form = comparison(1, 1e-3); }},
        Fault{"control passes", "control: mean-of-means",
              [](RunReportInput& i) { i.controls[0].against_reference = comparison(0, 1e-8); }},
        Fault{"control rejected only by a name", "control: mean-of-means",
              [](RunReportInput& i) { i.controls[0].against_reference = with_problem(comparison(9, 0.02)); }},
        Fault{"control rejected only by NaN", "control: mean-of-means",
              [](RunReportInput& i) { i.controls[0].against_reference = comparison(9, std::nan("")); }},
        Fault{"resumed run one bit off", "resume: update 100",
              [](RunReportInput& i) { i.resume->final_parameters.different = 1; }},
        Fault{"resumed run differs on the way", "resume: on the way",
              [](RunReportInput& i) { i.resume->first_differing_update = 73; }},
        Fault{"not every update compared", "resume: on the way",
              [](RunReportInput& i) { i.resume->updates_compared = 49; }},
        Fault{"validation without tokens", "validation loss", [](RunReportInput& i) { i.evaluations[0].loss = {}; }},
        Fault{"infinite test loss", "test loss", [](RunReportInput& i) { i.evaluations[1].loss.sum = HUGE_VAL; }},
        Fault{"accuracy 9.99 points above", "test accuracy",
              [](RunReportInput& i) { i.evaluations[1].correct = 4700 + 1821; }},
        Fault{"one rank did not refuse", "zero-token window",
              [](RunReportInput& i) { i.zero_window->ranks_refused = 1; }},
        Fault{"parameters moved", "zero-token window",
              [](RunReportInput& i) { i.zero_window->parameters_untouched = false; }},
        Fault{"files written", "zero-token window", [](RunReportInput& i) { i.zero_window->nothing_written = false; }},
        Fault{"no gradient check", "gradient", [](RunReportInput& i) { i.gradient.reset(); }},
        Fault{"no lesson's form", "gradient, mean of W x S_r / N", [](RunReportInput& i) { i.lesson_form.reset(); }},
        Fault{"no control", "control: mean-of-means", [](RunReportInput& i) { i.controls.clear(); }},
        Fault{"no zero window", "zero-token window", [](RunReportInput& i) { i.zero_window.reset(); }}));

TEST(RunReport, ExactlyTenPointsHold) {
  RunReportInput input = good_lesson();
  input.evaluations[1] = {"test", {100.0, 1000}, 10, 500, 400, 0.10};
  EXPECT_TRUE(judge_run(input).holds());
  input.evaluations[1].correct = 499;
  EXPECT_FALSE(judge_run(input).holds());
}

TEST(RunReport, ALessonThatWasNotEvaluatedIsNotPassed) {
  RunReportInput input = good_lesson();
  input.evaluations.clear();
  EXPECT_EQ(failed(judge_run(std::move(input))), (std::vector<std::string>{"validation", "test"}));
}

TEST(RunReport, ALessonThatNobodyResumedHoldsAndSaysThatThisWasNotDone) {
  RunReportInput input = good_lesson();
  input.resume.reset();
  const RunReport report = judge_run(std::move(input));
  EXPECT_TRUE(report.holds());
  const std::string text = run_report_text(report, {});
  EXPECT_NE(text.find("All 8 checks hold.\nNot done, and not judged: resume "), std::string::npos) << text;
  EXPECT_EQ(run_report_to_json(report).at("not_done").size(), 1U);
  EXPECT_EQ(run_report_to_json(judge_run(good_lesson())).at("not_done"), Json::array());
}

TEST(RunReport, ATextRunIsJudgedByWhatItHas) {
  RunReportInput input;
  input.task = "text";
  input.parameters = 1000;
  input.evaluations = {{"validation", {200.0 * std::log(2.0), 100}, 5, 0, 0, {}}};
  EXPECT_TRUE(judge_run(input).holds());
  EXPECT_NE(run_report_text(judge_run(input), {}).find("2.0000"), std::string::npos);  // bits per byte
  input.evaluations[0].loss = {};
  EXPECT_EQ(failed(judge_run(input)), std::vector<std::string>{"validation loss"});
}

TEST(RunReport, JsonHoldsEverythingThatWasMeasured) {
  const Json json = Json::parse(run_report_to_json(judge_run(good_lesson())).dump());
  EXPECT_EQ(json.at("holds"), true);
  EXPECT_EQ(json.at("parameters"), kParameters);
  EXPECT_EQ(json.at("gradient").at("right").at("worst").at("error"), 3.73e-8);
  EXPECT_EQ(json.at("gradient").at("controls").at("mean-of-means").at("outside"), 250'000);
  EXPECT_EQ(json.at("resume").at("first_differing_update"), nullptr);
  EXPECT_EQ(json.at("evaluation").at("test").at("loss"), 23'978.1 / 18'231);
  EXPECT_EQ(json.at("evaluation").at("test").at("tokens"), 18'231);
  EXPECT_EQ(json.at("checks").size(), 10U);
}

TEST(RunReport, TextFits100CellsAndEndsWithThePlaces) {
  RunReportInput input = good_lesson();
  input.gradient->worst.parameter = "encoder.layers.0.self_attn.in_proj_weight";
  const std::string text = run_report_text(judge_run(std::move(input)), {});
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) EXPECT_LE(display_width(line), 100) << line;
  EXPECT_GT(text.find("outputs/figures/loss.svg"), text.find("All 10 checks hold."));
  EXPECT_NE(text.find("36.22 %"), std::string::npos);
}

TEST(RunReport, ColoursStandOnVerdictsOnly) {
  const std::string text = run_report_text(judge_run(good_lesson()), {.colour = true});
  EXPECT_NE(text.find("\x1b[1;32mPASS\x1b[0m"), std::string::npos);
  EXPECT_EQ(run_report_text(judge_run(good_lesson()), {}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace samegrad
