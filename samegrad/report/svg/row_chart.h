// One row a name, markers along a logarithmic x axis, and a band in each row.
#pragma once

#include <string>
#include <vector>

#include "samegrad/report/svg/document.h"
#include "samegrad/report/svg/plot_frame.h"

namespace samegrad::svg {

struct RowSeries {
  std::string name{};
  SeriesLook look;
  std::vector<double>
      values{};  ///< one a row; 0 stands hollow at the left end; one that is not finite at the right end
};

struct RowChart {
  std::string x_title{};
  std::vector<std::string> rows{};  ///< names, from the top down
  std::vector<RowSeries> series{};
  std::string band_name{};
  std::string band_colour{};
  std::vector<double> band_from{};  ///< one a row
  std::vector<double> band_to{};    ///< one a row, >= band_from > 0
};

/// Draws the chart into `panel`. Local.
void draw_row_chart(SvgDocument& document, const Area& panel, const RowChart& chart);

}  // namespace samegrad::svg
