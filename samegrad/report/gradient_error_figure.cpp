#include <algorithm>
#include <cmath>
#include <map>

#include "samegrad/report/figures.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/svg/row_chart.h"
#include "samegrad/report/svg/theme.h"

namespace samegrad {
namespace {

constexpr std::size_t kMostRows = 40;

struct Row {
  const ParameterComparison* right = nullptr;
  const ParameterComparison* control = nullptr;
};

// Larger than every number where a component is not finite.
double rank_of(double error) { return std::isfinite(error) ? error : HUGE_VAL; }

// Parameters that both comparisons have, in order; where there are too many, those with the largest right errors
// relative to what is allowed.
std::vector<Row> rows_of(const Comparison& right, const Comparison& control) {
  std::map<std::string, const ParameterComparison*> control_of;
  for (const ParameterComparison& parameter : control.parameters) control_of[parameter.name] = &parameter;
  std::vector<Row> rows;
  for (const ParameterComparison& parameter : right.parameters) {
    const auto found = control_of.find(parameter.name);
    if (found != control_of.end()) rows.push_back({&parameter, found->second});
  }
  if (rows.size() <= kMostRows) return rows;
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const Row& row : rows) errors.push_back(rank_of(row.right->worst.error));
  std::nth_element(errors.begin(), errors.begin() + (kMostRows - 1), errors.end(), std::greater<>());
  const double least = errors[kMostRows - 1];
  std::erase_if(rows, [least](const Row& row) { return rank_of(row.right->worst.error) < least; });
  rows.resize(kMostRows);
  return rows;
}

bool has_zero(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.right->worst.error == 0.0 || row.control->worst.error == 0.0; });
}

std::string subtitle(const Comparison& right, const Comparison& control, const std::string& control_name,
                     const std::vector<Row>& rows) {
  const std::size_t shown = rows.size();
  std::string text = "Window 1 against one process, all " + grouped(right.elements) + " components. Right: largest " +
                     scientific(right.worst.error, 3) + ", " + grouped(right.outside) + " outside. Wrong (" +
                     control_name + "): largest " + scientific(control.worst.error, 3) + ", " +
                     grouped(control.outside) + " outside.";
  if (has_zero(rows)) text += " A hollow marker at the left edge is exactly 0.";
  if (shown < right.parameters.size()) {
    text += " Shown: the " + std::to_string(shown) + " parameters with the largest errors of " +
            std::to_string(right.parameters.size()) + ".";
  }
  return text;
}

}  // namespace

std::string gradient_error_figure(const Comparison& right, const Comparison& control, const std::string& control_name) {
  const std::vector<Row> rows = rows_of(right, control);
  constexpr double kRowHeight = 16.0;
  const double height = std::max(svg::kFigureHeight, 170.0 + kRowHeight * static_cast<double>(rows.size()));
  svg::SvgDocument document(svg::kFigureWidth, height, "Gradient error of each parameter");
  const svg::Area area =
      svg::draw_title(document, "Gradient error of each parameter", subtitle(right, control, control_name, rows));

  svg::RowChart chart;
  chart.x_title = "largest |gradient - reference| of the parameter (log scale)";
  chart.series = {{"right: sum of losses / number of tokens",
                   {.colour = svg::kBlue, .line_width = 0.0, .marker = svg::Marker::kCircle, .marker_size = 8.0},
                   {}},
                  {"wrong: " + control_name,
                   {.colour = svg::kOrange, .line_width = 0.0, .marker = svg::Marker::kDiamond, .marker_size = 10.0},
                   {}}};
  chart.band_name = "tolerance " + shortest(right.tolerance.absolute) + " + " + shortest(right.tolerance.relative) +
                    " × |reference|, from the smallest to the largest component";
  chart.band_colour = "#cfe8d8";
  for (const Row& row : rows) {
    chart.rows.push_back(row.right->name);
    chart.series[0].values.push_back(row.right->worst.error);
    chart.series[1].values.push_back(row.control->worst.error);
    chart.band_from.push_back(right.tolerance.absolute);
    chart.band_to.push_back(right.tolerance.allowed(row.right->largest_reference));
  }
  draw_row_chart(document, area, chart);
  return document.str();
}

}  // namespace samegrad
