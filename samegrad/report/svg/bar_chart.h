// Bars over a numeric x axis, several layers stacked on one another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "samegrad/report/svg/chart_scale.h"
#include "samegrad/report/svg/document.h"

namespace samegrad::svg {

struct BarLayer {
  std::string name{};  ///< in the legend, where there is more than one layer
  std::string colour{};
  std::vector<double> values{};  ///< one a bar, not negative
};

struct BarChart {
  std::string x_title{};
  std::string y_title{};
  std::optional<ChartScale> x_scale{};  ///< default: whole numbers, half a bar beyond the outer ones
  double least_label_room = 0.0;        ///< as LineChart's
  std::vector<double> x{};              ///< ascending: where the bars stand
  std::vector<BarLayer> layers{};       ///< from the bottom up
};

/// Draws the chart into `panel`; the y axis starts at 0. Local.
void draw_bar_chart(SvgDocument& document, const Area& panel, const BarChart& chart);

}  // namespace samegrad::svg
