#include "samegrad/report/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <regex>
#include <sstream>

#include "xml_check.h"

namespace samegrad {
namespace {

LossHistory lesson_history() {
  LossHistory history;
  for (std::int64_t update = 1; update <= 100; ++update) {
    const LossPoint point{update, {1000.0 * (1.3 + 0.1 * std::exp(-static_cast<double>(update) / 20.0)), 1000}};
    history.continuous.push_back(point);
    (update <= 50 ? history.stopped : history.resumed).push_back(point);
  }
  history.stopped_at = 50;
  return history;
}

// The points of each polyline, as written.
std::vector<std::vector<std::string>> polylines(const std::string& svg) {
  std::vector<std::vector<std::string>> result;
  const std::regex pattern("<polyline[^>]* points=\"([^\"]*)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), pattern); it != std::sregex_iterator(); ++it) {
    std::istringstream in((*it)[1].str());
    result.emplace_back();
    for (std::string point; in >> point;) result.back().push_back(point);
  }
  return result;
}

TEST(LossFigure, StoppedAndResumedLieOnContinuous) {
  const std::string svg = loss_figure(lesson_history());
  EXPECT_EQ(xml_problem(svg), "");
  const auto lines = polylines(svg);
  ASSERT_EQ(lines.size(), 3U);
  ASSERT_EQ(lines[0].size(), 100U);
  const std::vector<std::string> first(lines[0].begin(), lines[0].begin() + 50);
  const std::vector<std::string> second(lines[0].begin() + 50, lines[0].end());
  EXPECT_EQ(lines[1], first);
  EXPECT_EQ(lines[2], second);
  EXPECT_NE(svg.find("stopped and resumed at 50"), std::string::npos);
  EXPECT_NE(svg.find("shares with the others: 0."), std::string::npos);
}

TEST(LossFigure, SaysADifferenceThatNobodyWouldSee) {
  LossHistory history = lesson_history();
  history.resumed[30].loss.sum += 1e-6;
  EXPECT_EQ(loss_figure(history).find("shares with the others: 0."), std::string::npos);
}

TEST(LossFigure, TheSameDataGiveTheSameBytes) {
  EXPECT_EQ(loss_figure(lesson_history()), loss_figure(lesson_history()));
}

TEST(LossFigure, LongRunsAreJoinedAndSaySo) {
  LossHistory history;
  for (std::int64_t update = 1; update <= 5000; ++update) history.continuous.push_back({update, {2.0, 1}});
  history.bytes = true;
  const std::string svg = loss_figure(history);
  EXPECT_LE(polylines(svg)[0].size(), 800U);
  EXPECT_NE(svg.find("7 updates joined"), std::string::npos);
  EXPECT_NE(svg.find("bits per byte"), std::string::npos);
}

TEST(LossFigure, NonFiniteLossesBreakTheLineAndDrawNoNan) {
  LossHistory history = lesson_history();
  history.continuous[40].loss.sum = std::nan("");
  const std::string svg = loss_figure(history);
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(svg.find("\"nan"), std::string::npos);
  EXPECT_EQ(polylines(svg).size(), 4U);
}

TEST(LossFigure, NothingIsDrawnAsNoData) {
  EXPECT_NE(loss_figure({}).find("no data"), std::string::npos);
  EXPECT_EQ(xml_problem(loss_figure({})), "");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(TokensFigure, EachRankOfEachWindowHasItsMark) {
  std::vector<WindowTokens> windows;
  for (std::int64_t update = 1; update <= 100; ++update) windows.push_back({update, {12, 36}});
  const std::string svg = tokens_figure(windows);
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(count(svg, "<circle"), 101U);  // rank 0, and its legend
  EXPECT_NE(svg.find("holds 50.0 % more"), std::string::npos);
}

TEST(TokensFigure, ManyWindowsKeepTheMostUnequalOne) {
  std::vector<WindowTokens> windows;
  for (std::int64_t update = 1; update <= 1000; ++update) windows.push_back({update, {100, 100}});
  windows[567].by_rank = {0, 200};
  const std::string svg = tokens_figure(windows);
  EXPECT_NE(svg.find("at most 100.0 %"), std::string::npos);
  EXPECT_NE(svg.find("most unequal window of each 9"), std::string::npos);
  EXPECT_LE(count(svg, "<circle"), 121U);
}

TEST(TokensFigure, AnyNumberOfRanksAndEmptyWindowsAreDrawn) {
  for (const std::size_t ranks : {0U, 1U, 3U, 16U}) {
    EXPECT_EQ(xml_problem(tokens_figure(std::vector<WindowTokens>{{1, std::vector<std::int64_t>(ranks, 0)}})), "");
  }
  EXPECT_EQ(xml_problem(tokens_figure({})), "");
}

Comparison comparison(std::size_t parameters, double error) {
  Comparison result;
  for (std::size_t i = 0; i < parameters; ++i) {
    ParameterComparison parameter;
    parameter.name = "layer." + std::to_string(i) + ".weight<&>";
    parameter.elements = 10;
    parameter.largest_reference = 0.5;
    parameter.worst.error = error * static_cast<double>(i + 1);
    result.parameters.push_back(parameter);
    result.elements += 10;
    result.worst = parameter.worst;
  }
  return result;
}

TEST(GradientErrorFigure, RightStandsLeftOfTheToleranceAndWrongRightOfIt) {
  const std::string svg = gradient_error_figure(comparison(3, 1e-8), comparison(3, 1e-3), "mean of means");
  EXPECT_EQ(xml_problem(svg), "");
  const auto first_number = [&svg](const char* before, std::size_t occurrence) {
    std::size_t at = 0;
    for (std::size_t i = 0; i <= occurrence; ++i) at = svg.find(before, at + 1);
    return std::stod(svg.substr(at + std::string(before).size()));
  };
  const double right = first_number("<circle cx=\"", 1);  // 0 is the legend's
  const double band = first_number("<rect x=\"", 2);      // 0 the paper, 1 the legend's
  const double wrong = first_number("<path d=\"M", 1);    // 0 is the legend's
  EXPECT_LT(right, band);
  EXPECT_LT(band, wrong);
}

TEST(GradientErrorFigure, ManyParametersKeepTheWorst) {
  const std::string svg = gradient_error_figure(comparison(100, 1e-8), comparison(100, 1e-3), "control");
  EXPECT_NE(svg.find("the 40 parameters with the largest errors of 100"), std::string::npos);
  EXPECT_NE(svg.find("layer.99."), std::string::npos);
  EXPECT_EQ(svg.find("layer.59."), std::string::npos);
}

TEST(GradientErrorFigure, ZeroAndNanErrorsAreDrawn) {
  Comparison right = comparison(2, 0.0);
  right.parameters[1].worst.error = std::nan("");
  const std::string svg = gradient_error_figure(right, comparison(2, 1e-3), "control");
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_NE(svg.find("exactly 0"), std::string::npos);
  EXPECT_EQ(xml_problem(gradient_error_figure({}, {}, "control")), "");
}

TEST(RankTimeFigure, StacksTheThreeParts) {
  const std::vector<RankWork> ranks{{10, 3.0, 1.0, 0.5}, {20, 4.0, 0.0, 0.5}};
  const std::string svg = rank_time_figure(ranks);
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(count(svg, "<rect"), 1U + 3U + 6U);  // paper, legend, bars
  EXPECT_NE(svg.find("77.8 %"), std::string::npos);
  EXPECT_EQ(xml_problem(rank_time_figure({})), "");
}

}  // namespace
}  // namespace samegrad
