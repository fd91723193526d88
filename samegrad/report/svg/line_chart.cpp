#include "samegrad/report/svg/line_chart.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "samegrad/report/svg/theme.h"
#include "samegrad/report/svg/value_range.h"

namespace samegrad::svg {
namespace {

ValueRange x_range(const LineChart& chart) {
  ValueRange range;
  for (const LineSeries& series : chart.series) {
    for (const Point& point : series.points) range.add(point.x);
  }
  return range;
}

ValueRange y_range(const LineChart& chart) {
  ValueRange range;
  for (const LineSeries& series : chart.series) {
    for (const Point& point : series.points) {
      range.add(point.y);
    }
  }
  if (chart.y_from_zero) range.add(0.0);
  return range;
}

ChartScale y_scale(const LineChart& chart) {
  const ValueRange range = y_range(chart);
  return linear_scale(range.low, range.high, 9, /*widen=*/true);
}

void draw_columns(SvgDocument& document, const PlotFrame& frame, const LineChart& chart) {
  std::map<double, ValueRange> columns;
  for (const LineSeries& series : chart.series) {
    for (const Point& point : series.points) columns[point.x].add(point.y);
  }
  for (const auto& [x, range] : columns) {
    if (!range.empty()) document.line(frame.at(x, range.low), frame.at(x, range.high), {"#9a9a9a", 1.4, ""});
  }
}

void draw_series(SvgDocument& document, const PlotFrame& frame, const LineSeries& series) {
  std::vector<Point> piece;
  const Stroke stroke{series.look.colour, series.look.line_width, series.look.dashes};
  const auto end_piece = [&] {
    if (series.look.line_width > 0.0) document.polyline(piece, stroke);
    piece.clear();
  };
  for (const Point& point : series.points) {
    if (std::isfinite(point.y)) {
      piece.push_back(frame.at(point.x, point.y));
    } else {
      end_piece();
    }
  }
  end_piece();
  for (std::size_t i = series.marker_first; i < series.points.size();
       i += std::max<std::size_t>(1, series.marker_every)) {
    const Point& point = series.points[i];
    if (!std::isfinite(point.y)) continue;
    document.marker(frame.at(point.x, point.y), series.look.marker, series.look.marker_size, series.look.colour,
                    series.look.filled);
  }
}

}  // namespace

void draw_line_chart(SvgDocument& document, const Area& panel, const LineChart& chart) {
  std::vector<LegendEntry> legend;
  for (const LineSeries& series : chart.series) legend.push_back({series.name, series.look});
  const ValueRange x = x_range(chart);
  const ChartScale x_scale = chart.x_scale.value_or(whole_scale(x.low, x.high, 12));
  const PlotFrame frame = draw_frame(document, panel, {chart.x_title, x_scale},
                                     {chart.y_title, y_scale(chart), chart.least_label_room}, legend, chart.second_y);
  if (x.empty()) {
    document.text({frame.plot.left + frame.plot.width / 2.0, frame.plot.top + frame.plot.height / 2.0}, "no data",
                  {.size = 15.0, .colour = kQuietInk, .anchor = Anchor::kMiddle});
    return;
  }
  if (chart.connect_columns) draw_columns(document, frame, chart);
  for (const LineSeries& series : chart.series) draw_series(document, frame, series);
  for (const Mark& mark : chart.vertical_marks) draw_vertical_mark(document, frame, mark.at, mark.label);
}

}  // namespace samegrad::svg
