// What all charts share: axes with titles, ticks and grid, and a legend above the plot, where it covers no data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samegrad/report/svg/chart_scale.h"
#include "samegrad/report/svg/document.h"

namespace samegrad::svg {

/// What stands for a series, in the plot and in the legend.
struct SeriesLook {
  std::string colour{};
  double line_width = 2.0;  ///< 0: no line
  std::string dashes{};     ///< of the line; empty: solid
  Marker marker = Marker::kNone;
  double marker_size = 7.0;
  bool filled = true;
  bool box = false;  ///< a filled box instead: bars and bands
};

struct LegendEntry {
  std::string name{};
  SeriesLook look;
};

struct Axis {
  std::string title{};  ///< with its unit
  ChartScale scale;
  double least_label_room = 0.0;  ///< y axis: pixels kept for the labels at least
};

/// The same y axis in other units, on the right side.
struct SecondAxis {
  std::string title{};
  double factor = 1.0;  ///< second = factor x first
};

/// A plot ready for its data.
struct PlotFrame {
  Area plot;
  ChartScale x;
  ChartScale y;

  Point at(double x_value, double y_value) const;
};

/// Draws everything but the data into `panel`. Local.
PlotFrame draw_frame(SvgDocument& document, const Area& panel, const Axis& x, const Axis& y,
                     std::span<const LegendEntry> legend, const std::optional<SecondAxis>& second = std::nullopt);

/// Draws the legend from `top_left`, in as many rows as `width` asks for; returns its height (0: no entries). Local.
double draw_legend(SvgDocument& document, Point top_left, double width, std::span<const LegendEntry> legend);

/// A vertical line over the whole plot with a label at its top. Local.
void draw_vertical_mark(SvgDocument& document, const PlotFrame& frame, double x, std::string_view label);

}  // namespace samegrad::svg
