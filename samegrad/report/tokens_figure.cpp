#include <algorithm>
#include <numeric>

#include "samegrad/report/figures.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/svg/bar_chart.h"
#include "samegrad/report/svg/line_chart.h"
#include "samegrad/report/svg/theme.h"

namespace samegrad {
namespace {

// With more ranks than these, dots cover one another; then the emptiest, the mean and the fullest are shown.
constexpr std::size_t kMostRanks = 4;

// Dots stay apart with this many columns.
std::size_t most_columns(std::size_t ranks) { return ranks <= 2 ? 120 : 60; }

double mean_tokens(const WindowTokens& window) {
  const auto sum = std::accumulate(window.by_rank.begin(), window.by_rank.end(), std::int64_t{0});
  return window.by_rank.empty() ? 0.0 : static_cast<double>(sum) / static_cast<double>(window.by_rank.size());
}

double most_tokens(const WindowTokens& window) {
  return window.by_rank.empty() ? 0.0
                                : static_cast<double>(*std::max_element(window.by_rank.begin(), window.by_rank.end()));
}

double least_tokens(const WindowTokens& window) {
  return window.by_rank.empty() ? 0.0
                                : static_cast<double>(*std::min_element(window.by_rank.begin(), window.by_rank.end()));
}

// Percent that the fullest rank holds above the mean; 0 for a window without tokens.
double excess_percent(const WindowTokens& window) {
  const double mean = mean_tokens(window);
  return mean == 0.0 ? 0.0 : 100.0 * (most_tokens(window) / mean - 1.0);
}

// Each at the middle of its group, so that the columns stand evenly.
std::vector<WindowTokens> most_unequal_of_each(std::span<const WindowTokens> windows, std::size_t group) {
  std::vector<WindowTokens> result;
  for (std::size_t first = 0; first < windows.size(); first += group) {
    const auto neighbours = windows.subspan(first, std::min(group, windows.size() - first));
    const std::int64_t middle = neighbours[neighbours.size() / 2].update;
    result.push_back(*std::max_element(
        neighbours.begin(), neighbours.end(),
        [](const WindowTokens& a, const WindowTokens& b) { return excess_percent(a) < excess_percent(b); }));
    result.back().update = middle;
  }
  return result;
}

svg::LineSeries dots(std::string name, std::size_t number) {
  return {std::move(name),
          {.colour = svg::series_colour(number),
           .line_width = 0.0,
           .marker = svg::series_marker(number),
           .marker_size = 6.0}};
}

std::vector<svg::LineSeries> rank_series(const std::vector<WindowTokens>& windows, std::size_t ranks) {
  std::vector<svg::LineSeries> series;
  if (ranks > kMostRanks) {
    series = {dots("emptiest rank", 0), dots("mean", 2), dots("fullest rank", 1)};
    for (const WindowTokens& window : windows) {
      const auto x = static_cast<double>(window.update);
      series[0].points.push_back({x, least_tokens(window)});
      series[1].points.push_back({x, mean_tokens(window)});
      series[2].points.push_back({x, most_tokens(window)});
    }
    return series;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    series.push_back(dots("rank " + std::to_string(rank), rank));
    for (const WindowTokens& window : windows) {
      if (rank < window.by_rank.size()) {
        series.back().points.push_back({static_cast<double>(window.update), static_cast<double>(window.by_rank[rank])});
      }
    }
  }
  return series;
}

std::string subtitle(std::span<const WindowTokens> windows, std::size_t ranks, std::size_t group) {
  if (ranks == 1) return "One process: it holds all tokens of every window.";
  double sum = 0.0;
  double largest = 0.0;
  for (const WindowTokens& window : windows) {
    sum += excess_percent(window);
    largest = std::max(largest, excess_percent(window));
  }
  const double mean = windows.empty() ? 0.0 : sum / static_cast<double>(windows.size());
  std::string text = "On average over " + grouped(static_cast<std::int64_t>(windows.size())) +
                     " windows the fullest rank holds " + fixed(mean, 1) + " % more than the ranks' mean, at most " +
                     fixed(largest, 1) + " %. A mean of the ranks' means would weigh their tokens unequally.";
  if (group > 1) text += " Shown: the most unequal window of each " + std::to_string(group) + ".";
  return text;
}

}  // namespace

std::string tokens_figure(std::span<const WindowTokens> windows) {
  std::size_t ranks = 0;
  for (const WindowTokens& window : windows) ranks = std::max(ranks, window.by_rank.size());
  const std::size_t columns = most_columns(ranks);
  const std::size_t group = std::max<std::size_t>(1, (windows.size() + columns - 1) / columns);
  const std::vector<WindowTokens> shown = most_unequal_of_each(windows, group);

  constexpr double kHeight = 640.0;
  svg::SvgDocument document(svg::kFigureWidth, kHeight, "Supervised tokens per rank and window");
  const svg::Area area =
      svg::draw_title(document, "Supervised tokens per rank and window", subtitle(windows, ranks, group));
  const double upper = area.height * 0.62;
  const double half_column = 0.5 * static_cast<double>(group);
  const svg::ChartScale x = shown.empty()
                                ? svg::whole_scale(0.0, 1.0, 12)
                                : svg::whole_scale(static_cast<double>(shown.front().update) - half_column,
                                                   static_cast<double>(shown.back().update) + half_column, 12);
  constexpr double kLabelRoom = 50.0;

  svg::LineChart tokens{.x_title = "window (update)", .y_title = "supervised tokens"};
  tokens.x_scale = x;
  tokens.least_label_room = kLabelRoom;
  tokens.connect_columns = true;
  tokens.y_from_zero = true;
  tokens.series = rank_series(shown, ranks);
  svg::BarChart excess{.x_title = "window (update)", .y_title = "above mean (%)"};
  excess.x_scale = x;
  excess.least_label_room = kLabelRoom;
  excess.layers.push_back({"", svg::kPurple, {}});
  for (const WindowTokens& window : shown) {
    excess.x.push_back(static_cast<double>(window.update));
    excess.layers.front().values.push_back(excess_percent(window));
  }
  draw_line_chart(document, {area.left, area.top, area.width, upper - 6.0}, tokens);
  draw_bar_chart(document, {area.left, area.top + upper, area.width, area.height - upper}, excess);
  return document.str();
}

}  // namespace samegrad
