// The figures of a run as SVG text, 900 pixels wide. Pure: the same data give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samegrad/objective/loss_sum.h"
#include "samegrad/report/compare.h"
#include "samegrad/report/progress.h"
#include "samegrad/report/simulation.h"

namespace samegrad {

/// The loss after an update.
struct LossPoint {
  std::int64_t update = 0;
  LossSum loss{};
};

struct LossHistory {
  std::vector<LossPoint> stopped{};
  std::vector<LossPoint> continuous{};
  std::vector<LossPoint> resumed{};
  std::vector<LossPoint> validation{};       ///< of the continuous run; where it has none, of the others
  std::optional<std::int64_t> stopped_at{};  ///< where the stopped run ended and the resumed one began
  bool bytes = false;                        ///< tokens are bytes: a second axis shows bits per byte
  bool per_token = true;                     ///< N is the number of supervised tokens
};

/// Training loss S/N of each update. The stopped and the resumed curve are drawn over the continuous one, so that a
/// difference shows; the largest one is said in words. Local.
std::string loss_figure(const LossHistory& history);

/// Supervised tokens of one window.
struct WindowTokens {
  std::int64_t update = 0;
  std::vector<std::int64_t> by_rank{};
};

/// Supervised tokens per rank and window, and below how much the fullest rank holds above the mean of the ranks. With
/// many windows, the most unequal one of each group of neighbours is shown, and the figure says so. Local.
std::string tokens_figure(std::span<const WindowTokens> windows);

/// Largest absolute error of each parameter, on a log axis, of the right gradient and of a control, with the band of
/// what the tolerance allows. With many parameters those with the largest errors are shown, and the figure says so.
/// Local.
std::string gradient_error_figure(const Comparison& right, const Comparison& control, const std::string& control_name);

/// Where each rank's time went: compute, wait, exchange. Local.
std::string rank_time_figure(std::span<const RankWork> ranks);

/// Efficiency of a simulation (report/simulation.h) over its numbers of ranks, at least one. Local.
std::string simulation_figure(std::span<const SimulatedRow> rows, const std::string& subtitle);

}  // namespace samegrad
