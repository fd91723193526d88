#include <algorithm>

#include "samegrad/report/figures.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/svg/line_chart.h"
#include "samegrad/report/svg/theme.h"

namespace samegrad {
namespace {

/// Ticks at the numbers of ranks themselves, thinned to what can be read.
svg::ChartScale ranks_scale(std::vector<std::int64_t> ranks) {
  constexpr std::size_t kMostTicks = 13;
  std::ranges::sort(ranks);
  svg::ChartScale scale{.low = static_cast<double>(ranks.front()),
                        .high = static_cast<double>(std::max(ranks.back(), 2 * ranks.front())),
                        .logarithmic = true,
                        .ticks = {}};
  const std::size_t every = (ranks.size() + kMostTicks - 1) / kMostTicks;
  for (std::size_t i = 0; i < ranks.size(); i += every) {
    scale.ticks.push_back({static_cast<double>(ranks[i]), grouped(ranks[i])});
  }
  return scale;
}

}  // namespace

std::string simulation_figure(std::span<const SimulatedRow> rows, const std::string& subtitle) {
  std::vector<std::int64_t> ranks;
  std::vector<svg::Point> canonical;
  std::vector<svg::Point> native;
  for (const SimulatedRow& row : rows) {
    const auto x = static_cast<double>(row.world_size);
    ranks.push_back(row.world_size);
    canonical.push_back({x, 100.0 * row.canonical.efficiency});
    native.push_back({x, 100.0 * row.native.efficiency});
  }
  const auto by_x = [](const svg::Point& left, const svg::Point& right) { return left.x < right.x; };
  std::ranges::sort(canonical, by_x);
  std::ranges::sort(native, by_x);
  svg::SvgDocument document(svg::kFigureWidth, svg::kFigureHeight, "Predicted efficiency by number of ranks");
  const svg::Area area = svg::draw_title(document, "Predicted efficiency by number of ranks", subtitle);
  svg::LineChart chart{.x_title = "ranks",
                       .y_title = "efficiency: time of one rank / (ranks x time), %",
                       .x_scale = ranks_scale(ranks),
                       .y_from_zero = true};
  chart.series = {
      {"canonical reduction", {.colour = svg::kBlue, .line_width = 2.0, .marker = svg::Marker::kCircle}, canonical},
      {"native reduction (ring)",
       {.colour = svg::kOrange, .line_width = 2.0, .dashes = "6 3", .marker = svg::Marker::kSquare},
       native}};
  draw_line_chart(document, area, chart);
  return document.str();
}

}  // namespace samegrad
