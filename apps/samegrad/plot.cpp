// `samegrad plot`: the figures of a run, from what training and evaluate have written.
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/samegrad/commands.h"
#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/base/log.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/report/facts_list.h"
#include "samegrad/report/figures.h"
#include "samegrad/report/metrics.h"
#include "samegrad/report/png.h"
#include "samegrad/report/run_history.h"

namespace samegrad {
namespace {

// A figure's text, or why there is none.
struct Drawing {
  std::string name;  // one of figure_names()
  std::string svg;
  std::string missing;
};

RunHistory history_of(const RunPaths& paths) {
  bool any = false;
  RunHistory history;
  if (std::filesystem::exists(paths.metrics)) {
    history = run_history([&](const std::function<void(const Json&)>& take) {
      for_each_metrics_line(paths.metrics, [&](const Json& line, std::int64_t) {
        any = true;
        take(line);
      });
    });
  }
  if (!any) {
    throw InputError("plot", "nothing was trained here: no update in " + paths.metrics.string() +
                                 "; run `samegrad train` first, or give the run's folder with --run");
  }
  return history;
}

// A text run's tokens are bytes.
bool tokens_are_bytes(const RunPaths& paths) {
  if (!std::filesystem::exists(paths.data_lock)) return false;
  const Json lock = read_json_file(paths.data_lock, "plot");
  return lock.is_object() && lock.contains("task") && lock["task"] == "text";
}

// A run of before the objective had other units counts tokens.
bool counts_tokens(const RunPaths& paths) {
  if (!std::filesystem::exists(paths.current_run)) return true;
  const Json run = read_json_file(paths.current_run, "plot");
  const Json config = run.is_object() ? run.value("config", Json::object()) : Json::object();
  const Json objective = config.is_object() ? config.value("objective", Json::object()) : Json::object();
  return !objective.is_object() ||
         (objective.value("unit", Json("token")) == "token" && objective.value("class_weights", Json::array()).empty());
}

Drawing gradient_drawing(const RunPaths& paths) {
  Drawing drawing{.name = "gradient-error", .svg = {}, .missing = "no gradient was checked yet; run samegrad evaluate"};
  if (!std::filesystem::exists(paths.report)) return drawing;
  const Json report = read_json_file(paths.report, "plot");
  try {
    const Json& gradient = report.at("gradient");
    const Json& controls = gradient.at("controls");
    if (gradient.at("right").is_null() || controls.empty()) return drawing;
    const auto control = controls.contains("mean-of-means") ? controls.find("mean-of-means") : controls.begin();
    drawing.svg = gradient_error_figure(comparison_from_json(gradient.at("right")),
                                        comparison_from_json(control.value()), control.key());
  } catch (const Json::exception& error) {
    throw InputError("plot", paths.report.string() + ": not as samegrad evaluate writes it: " + error.what() +
                                 "; run samegrad evaluate again");
  }
  return drawing;
}

std::vector<Drawing> draw(const RunPaths& paths) {
  RunHistory history = history_of(paths);
  history.loss.bytes = tokens_are_bytes(paths);
  history.loss.per_token = counts_tokens(paths);
  return {{"loss", loss_figure(history.loss), {}},
          {"tokens", tokens_figure(history.windows), {}},
          gradient_drawing(paths),
          {"rank-time", rank_time_figure(history.ranks), {}}};
}

// Writes the figure's files, and returns what is said about them. A file that cannot be made anew is removed: it would
// show another run.
std::string save(const Drawing& drawing, const RunPaths& paths, std::string& png_problem) {
  const std::filesystem::path svg = paths.figure(drawing.name, "svg");
  const std::filesystem::path png = paths.figure(drawing.name, "png");
  if (drawing.svg.empty()) {
    std::filesystem::remove(svg);
    std::filesystem::remove(png);
    return drawing.missing;
  }
  write_file_atomically(svg, drawing.svg);
  std::string problem = convert_to_png(svg, png);
  if (problem.empty()) return svg.string() + ", " + png.string();
  std::filesystem::remove(png);
  png_problem = std::move(problem);
  return svg.string();
}

}  // namespace

int run_plot(const CommandLine& command) {
  const RunPaths paths(command.run);
  std::vector<std::pair<std::string, std::string>> said;
  std::string png_problem;
  for (const Drawing& drawing : draw(paths)) said.emplace_back(drawing.name, save(drawing, paths, png_problem));
  std::cout << "Figures\n" << facts_list(said, TextStyle{});
  if (!png_problem.empty()) log_warn("[plot] " + png_problem);
  return 0;
}

}  // namespace samegrad
