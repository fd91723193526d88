// Lines and markers over a numeric x axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "samegrad/report/svg/document.h"
#include "samegrad/report/svg/plot_frame.h"

namespace samegrad::svg {

struct LineSeries {
  std::string name{};
  SeriesLook look;
  std::vector<Point> points{};   ///< data values; a y that is not finite breaks the line
  std::size_t marker_every = 1;  ///< a marker at each k-th point, from `marker_first`
  std::size_t marker_first = 0;
};

struct Mark {
  double at = 0.0;
  std::string label{};
};

struct LineChart {
  std::string x_title{};
  std::string y_title{};
  std::optional<ChartScale> x_scale{};  ///< default: whole numbers over the points
  double least_label_room = 0.0;        ///< pixels for the y labels, so that two charts can stand in line
  bool y_from_zero = false;
  bool connect_columns = false;      ///< a thin vertical line from least to largest y of each x: shows spreads
  std::vector<LineSeries> series{};  ///< later ones are drawn over earlier ones
  std::vector<Mark> vertical_marks{};
  std::optional<SecondAxis> second_y{};
};

/// Draws the chart into `panel`. Without any point it says "no data". Local.
void draw_line_chart(SvgDocument& document, const Area& panel, const LineChart& chart);

}  // namespace samegrad::svg
