#include <cmath>

#include "samegrad/report/number_text.h"
#include "samegrad/report/run_report.h"
#include "samegrad/report/table.h"

namespace samegrad {
namespace {

std::string evaluation_text(const std::vector<EvaluationFacts>& sets, bool lesson, const TextStyle& style) {
  std::vector<Column> columns{{"set"}};
  for (const char* title : {"sequences", "tokens", "loss S/N"}) columns.push_back({title, Align::kRight});
  columns.push_back({lesson ? "accuracy" : "perplexity", Align::kRight});
  columns.push_back({lesson ? "majority class" : "bits per byte", Align::kRight});
  Table table(std::move(columns));
  for (const EvaluationFacts& set : sets) {
    const auto tokens = static_cast<double>(set.per_token().count);
    std::vector<std::string> row{set.name, grouped(set.sequences), grouped(set.per_token().count),
                                 fixed(set.loss.mean(), 5)};
    if (lesson) {
      row.push_back(percent(static_cast<double>(set.correct) / tokens, 2));
      row.push_back(percent(static_cast<double>(set.majority_correct) / tokens, 2));
    } else {
      row.push_back(fixed(std::exp(set.per_token().mean()), 3));
      row.push_back(fixed(set.per_token().mean() / std::log(2.0), 4));
    }
    table.add_row(std::move(row));
  }
  return table.render(style.cells);
}

std::string list_text(const char* title, const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  std::string out = std::string("\n") + title + "\n";
  for (const std::string& path : paths) out += "  " + path + "\n";
  return out;
}

}  // namespace

std::string run_report_text(const RunReport& report, const TextStyle& style) {
  const RunReportInput& input = report.input;
  std::string out = toned("Report" + (input.run_id.empty() ? "" : " of run " + input.run_id) + " (" + input.task + ")",
                          Tone::kStrong, style) +
                    "\n\n";
  if (!input.evaluations.empty()) {
    out += evaluation_text(input.evaluations, input.task == "lesson", style) + "\n";
  }
  out += checks_text(report.checks, style) + "\n" + checks_verdict(report.checks, style) + "\n";
  for (const std::string& what : report.not_done) out += "Not done, and not judged: " + what + ".\n";
  return out + list_text("Files", input.files) + list_text("Figures", input.figures);
}

}  // namespace samegrad
