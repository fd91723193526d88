#include "samegrad/report/figures.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/svg/bar_chart.h"
#include "samegrad/report/svg/theme.h"

namespace samegrad {

std::string rank_time_figure(std::span<const RankWork> ranks) {
  svg::BarChart chart{.x_title = "rank", .y_title = "seconds"};
  chart.layers = {{"compute", svg::kBlue, {}},
                  {"wait for the slowest rank", "#d98a1f", {}},
                  {"exchange of gradients", svg::kPurple, {}}};
  double compute = 0.0;
  double all = 0.0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    chart.x.push_back(static_cast<double>(r));
    chart.layers[0].values.push_back(ranks[r].compute_seconds);
    chart.layers[1].values.push_back(ranks[r].wait_seconds);
    chart.layers[2].values.push_back(ranks[r].exchange_seconds);
    compute += ranks[r].compute_seconds;
    all += ranks[r].compute_seconds + ranks[r].wait_seconds + ranks[r].exchange_seconds;
  }
  svg::SvgDocument document(svg::kFigureWidth, svg::kFigureHeight, "Where each rank's time went");
  const svg::Area area = svg::draw_title(
      document, "Where each rank's time went",
      "Over the whole run. Computing: " + (all > 0.0 ? percent(compute / all, 1) : std::string("0 %")) +
          " of all ranks' time. What unequal windows cost shows as waiting on the ranks that had less to do.");
  draw_bar_chart(document, area, chart);
  return document.str();
}

}  // namespace samegrad
