#include "samegrad/report/svg/row_chart.h"

#include <algorithm>
#include <cmath>

#include "samegrad/base/check.h"
#include "samegrad/report/svg/text_width.h"
#include "samegrad/report/svg/theme.h"
#include "samegrad/report/svg/value_range.h"

namespace samegrad::svg {
namespace {

constexpr double kNameSize = 11.5;

ChartScale x_scale(const RowChart& chart) {
  ValueRange range;
  const auto add_positive = [&range](const std::vector<double>& values) {
    for (const double value : values) {
      if (value > 0.0) range.add(value);
    }
  };
  for (const RowSeries& series : chart.series) add_positive(series.values);
  add_positive(chart.band_from);
  add_positive(chart.band_to);
  if (range.empty()) range.add(1.0);
  // Room at both ends: an edge value is a real one, not one moved there.
  return log_scale(range.low / 1.5, range.high * 1.5, 14);
}

void draw_values(SvgDocument& document, const PlotFrame& frame, const RowSeries& series, double row_height) {
  for (std::size_t row = 0; row < series.values.size(); ++row) {
    const double value = series.values[row];
    const double y = frame.plot.top + (static_cast<double>(row) + 0.5) * row_height;
    const double x = std::isfinite(value) ? frame.at(value, 0.0).x : frame.plot.right();
    document.marker({x, y}, series.look.marker, std::min(series.look.marker_size, row_height - 3.0), series.look.colour,
                    series.look.filled && value > 0.0);
  }
}

}  // namespace

void draw_row_chart(SvgDocument& document, const Area& panel, const RowChart& chart) {
  const std::size_t rows = chart.rows.size();
  SAMEGRAD_CHECK_OP(chart.band_from.size(), ==, rows);
  SAMEGRAD_CHECK_OP(chart.band_to.size(), ==, rows);
  double names = 0.0;
  for (const std::string& row : chart.rows) names = std::max(names, text_width(row, kNameSize));
  std::vector<LegendEntry> legend;
  for (const RowSeries& series : chart.series) {
    SAMEGRAD_CHECK_OP(series.values.size(), ==, rows);
    legend.push_back({series.name, series.look});
  }
  legend.push_back({chart.band_name, {.colour = chart.band_colour, .box = true}});

  const double legend_height =
      draw_legend(document, {panel.left + names + 8.0, panel.top}, panel.width - names - 8.0, legend);
  const double top_room = legend_height + 10.0;
  const PlotFrame frame{
      {panel.left + names + 8.0, panel.top + top_room, panel.width - names - 24.0, panel.height - top_room - 42.0},
      x_scale(chart),
      {}};
  const double row_height = frame.plot.height / static_cast<double>(std::max<std::size_t>(1, rows));
  for (std::size_t row = 0; row < rows; ++row) {
    const double top = frame.plot.top + static_cast<double>(row) * row_height;
    const double from = frame.at(chart.band_from[row], 0.0).x;
    const double to = frame.at(chart.band_to[row], 0.0).x;
    document.rectangle({from, top, std::max(2.0, to - from), row_height}, chart.band_colour);
  }
  for (const Tick& tick : frame.x.ticks) {
    const double x = frame.at(tick.value, 0.0).x;
    document.line({x, frame.plot.top}, {x, frame.plot.bottom() + 5.0}, {kGridColour, 1.0, ""});
    document.text({x, frame.plot.bottom() + 18.0}, tick.label, {.size = 12.0, .anchor = Anchor::kMiddle});
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const double y = frame.plot.top + (static_cast<double>(row) + 0.5) * row_height;
    document.line({frame.plot.left, y}, {frame.plot.right(), y}, {kGridColour, 0.6, ""});
    document.text({frame.plot.left - 7.0, y + 4.0}, chart.rows[row], {.size = kNameSize, .anchor = Anchor::kEnd});
  }
  for (const RowSeries& series : chart.series) draw_values(document, frame, series, row_height);
  document.line({frame.plot.left, frame.plot.top}, {frame.plot.left, frame.plot.bottom()}, {kAxisColour, 1.0, ""});
  document.line({frame.plot.left, frame.plot.bottom()}, {frame.plot.right(), frame.plot.bottom()},
                {kAxisColour, 1.0, ""});
  document.text({frame.plot.left + frame.plot.width / 2.0, frame.plot.bottom() + 37.0}, chart.x_title,
                {.size = 13.0, .anchor = Anchor::kMiddle});
}

}  // namespace samegrad::svg
