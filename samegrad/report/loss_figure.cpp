#include <algorithm>
#include <cmath>
#include <map>

#include "samegrad/report/figures.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/svg/line_chart.h"
#include "samegrad/report/svg/theme.h"

namespace samegrad {
namespace {

// More points than pixels only make the file large.
constexpr std::size_t kMostPoints = 800;

// Neighbouring updates joined as sums over sums, so that each unit keeps its weight.
std::vector<svg::Point> data_points(const std::vector<LossPoint>& points, std::size_t group) {
  std::vector<svg::Point> result;
  for (std::size_t first = 0; first < points.size(); first += group) {
    const std::size_t last = std::min(points.size(), first + group) - 1;
    LossSum joined;
    for (std::size_t i = first; i <= last; ++i) {
      joined.sum += points[i].loss.sum;
      joined.count += points[i].loss.count;
      if (points[i].loss.weight) joined.weight = joined.weight.value_or(0.0) + *points[i].loss.weight;
    }
    result.push_back({static_cast<double>(points[last].update), joined.mean()});
  }
  return result;
}

svg::LineSeries line(const char* name, svg::SeriesLook look, std::vector<svg::Point> points) {
  // About ten markers a curve, wherever it begins.
  const std::size_t every = std::max<std::size_t>(1, points.size() / 10);
  return {name, std::move(look), std::move(points), every, every / 2};
}

// The largest |loss difference| of the updates that `part` shares with `whole`.
void add_differences(const std::vector<LossPoint>& part, const std::vector<LossPoint>& whole, std::int64_t& shared,
                     double& largest) {
  std::map<std::int64_t, double> whole_at;
  for (const LossPoint& point : whole) whole_at[point.update] = point.loss.mean();
  for (const LossPoint& point : part) {
    const auto found = whole_at.find(point.update);
    if (found == whole_at.end()) continue;
    ++shared;
    const double difference = std::abs(point.loss.mean() - found->second);
    if (!(difference <= largest)) largest = difference;
  }
}

std::string subtitle(const LossHistory& history, std::size_t group) {
  std::string text = history.per_token ? "Sum of token losses over number of supervised tokens, of all ranks together"
                                       : "Sum of losses over N of the run's objective, of all ranks together";
  text += group == 1 ? ", each update." : ", " + std::to_string(group) + " updates joined into a point.";
  std::int64_t shared = 0;
  double largest = 0.0;
  add_differences(history.stopped, history.continuous, shared, largest);
  add_differences(history.resumed, history.continuous, shared, largest);
  if (shared > 0) {
    text += " Largest difference from the continuous run at the " + grouped(shared) +
            " updates it shares with the others: " + scientific(largest, 3) + ".";
  }
  return text;
}

}  // namespace

std::string loss_figure(const LossHistory& history) {
  const std::size_t longest =
      std::max({history.stopped.size(), history.continuous.size(), history.resumed.size(), std::size_t{1}});
  const std::size_t group = (longest + kMostPoints - 1) / kMostPoints;
  svg::SvgDocument document(svg::kFigureWidth, svg::kFigureHeight, "Training loss per update");
  const svg::Area area = svg::draw_title(document, history.per_token ? "Training loss per token" : "Training loss",
                                         subtitle(history, group));

  svg::LineChart chart{.x_title = "update",
                       .y_title = history.per_token ? "loss per token, S/N (nats)" : "loss, S/N (nats)"};
  const bool lonely = history.stopped.empty() && history.resumed.empty();
  if (!history.continuous.empty()) {
    const svg::SeriesLook look = lonely ? svg::SeriesLook{.colour = svg::kBlue, .line_width = 1.8}
                                        : svg::SeriesLook{.colour = svg::kPaleBlue, .line_width = 8.0};
    chart.series.push_back(line(lonely ? "training" : "continuous", look, data_points(history.continuous, group)));
  }
  if (!history.stopped.empty()) {
    chart.series.push_back(line("stopped", {.colour = svg::kBlue, .line_width = 2.0, .marker = svg::Marker::kCircle},
                                data_points(history.stopped, group)));
  }
  if (!history.resumed.empty()) {
    chart.series.push_back(line(
        "resumed",
        {.colour = svg::kOrange, .line_width = 2.0, .dashes = "6 3", .marker = svg::Marker::kSquare, .filled = false},
        data_points(history.resumed, group)));
  }
  if (!history.validation.empty()) {
    svg::LineSeries validation{"validation",
                               {.colour = svg::kGreen,
                                .line_width = 1.6,
                                .dashes = "2 3",
                                .marker = svg::Marker::kDiamond,
                                .marker_size = 10.0},
                               data_points(history.validation, 1)};
    validation.marker_every = std::max<std::size_t>(1, validation.points.size() / 25);
    chart.series.push_back(std::move(validation));
  }
  if (history.stopped_at) {
    chart.vertical_marks.push_back(
        {static_cast<double>(*history.stopped_at),
         (history.resumed.empty() ? "stopped at " : "stopped and resumed at ") + std::to_string(*history.stopped_at)});
  }
  if (history.bytes && history.per_token) chart.second_y = svg::SecondAxis{"bits per byte", 1.0 / std::log(2.0)};
  draw_line_chart(document, area, chart);
  return document.str();
}

}  // namespace samegrad
