#include "samegrad/report/svg/bar_chart.h"

#include <algorithm>

#include "samegrad/base/check.h"
#include "samegrad/report/svg/plot_frame.h"
#include "samegrad/report/svg/value_range.h"

namespace samegrad::svg {
namespace {

double least_distance(const std::vector<double>& x) {
  double distance = x.size() < 2 ? 1.0 : x[1] - x[0];
  for (std::size_t i = 1; i < x.size(); ++i) distance = std::min(distance, x[i] - x[i - 1]);
  return distance;
}

ChartScale y_scale(const BarChart& chart) {
  ValueRange range;
  range.add(0.0);
  for (std::size_t i = 0; i < chart.x.size(); ++i) {
    double total = 0.0;
    for (const BarLayer& layer : chart.layers) total += layer.values[i];
    range.add(total);
  }
  // Bars that are all 0 still stand on a 0 at the bottom.
  if (range.low == range.high) range.add(1.0);
  return linear_scale(range.low, range.high, 8, /*widen=*/true);
}

ChartScale x_scale(const BarChart& chart, double distance) {
  const double low = chart.x.empty() ? 0.0 : chart.x.front() - distance / 2.0;
  const double high = chart.x.empty() ? 1.0 : chart.x.back() + distance / 2.0;
  return chart.x_scale.value_or(whole_scale(low, high, 12));
}

}  // namespace

void draw_bar_chart(SvgDocument& document, const Area& panel, const BarChart& chart) {
  std::vector<LegendEntry> legend;
  for (const BarLayer& layer : chart.layers) {
    SAMEGRAD_CHECK_OP(layer.values.size(), ==, chart.x.size());
    if (chart.layers.size() > 1) legend.push_back({layer.name, {.colour = layer.colour, .box = true}});
  }
  const double distance = least_distance(chart.x);
  const PlotFrame frame = draw_frame(document, panel, {chart.x_title, x_scale(chart, distance)},
                                     {chart.y_title, y_scale(chart), chart.least_label_room}, legend);
  // A single bar as wide as the plot would look like a background.
  const double width = std::min(90.0, 0.72 * distance / (frame.x.high - frame.x.low) * frame.plot.width);
  for (std::size_t i = 0; i < chart.x.size(); ++i) {
    double below = 0.0;
    for (const BarLayer& layer : chart.layers) {
      const Point bottom = frame.at(chart.x[i], below);
      below += layer.values[i];
      const Point top = frame.at(chart.x[i], below);
      document.rectangle({top.x - width / 2.0, top.y, width, bottom.y - top.y}, layer.colour);
    }
  }
}

}  // namespace samegrad::svg
