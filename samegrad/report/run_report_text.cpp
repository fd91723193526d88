#include <cmath>

#include "samegrad/report/number_text.h"
#include "samegrad/report/run_report.h"
#include "samegrad/report/table.h"

namespace samegrad {
namespace {

constexpr std::string_view kPass = "PASS";
constexpr std::string_view kFail = "FAIL";

// The verdict is a line's first word; colours are put on after the table is aligned, where they take no cells.
std::string with_tones(const std::string& table, const TextStyle& style) {
  std::string out;
  std::size_t begin = 0;
  while (begin < table.size()) {
    const std::size_t end = table.find('\n', begin) + 1;
    std::string_view line(table.data() + begin, end - begin);
    if (line.starts_with(kPass) || line.starts_with(kFail)) {
      out += toned(line.substr(0, kPass.size()), line.starts_with(kPass) ? Tone::kGood : Tone::kBad, style);
      line.remove_prefix(kPass.size());
    }
    out += line;
    begin = end;
  }
  return out;
}

std::string checks_text(const std::vector<CheckResult>& checks, const TextStyle& style) {
  Table table({{""}, {"check"}, {"must be"}, {"measured"}});
  for (const CheckResult& check : checks) {
    table.add_row({std::string(check.holds ? kPass : kFail), check.name, check.expected, check.measured});
  }
  return with_tones(table.render(style.cells), style);
}

std::string evaluation_text(const std::vector<EvaluationFacts>& sets, bool lesson, const TextStyle& style) {
  std::vector<Column> columns{{"set"}};
  for (const char* title : {"sequences", "tokens N", "loss S/N"}) columns.push_back({title, Align::kRight});
  columns.push_back({lesson ? "accuracy" : "perplexity", Align::kRight});
  columns.push_back({lesson ? "majority class" : "bits per byte", Align::kRight});
  Table table(std::move(columns));
  for (const EvaluationFacts& set : sets) {
    const auto tokens = static_cast<double>(set.loss.count);
    std::vector<std::string> row{set.name, grouped(set.sequences), grouped(set.loss.count), fixed(set.loss.mean(), 5)};
    if (lesson) {
      row.push_back(percent(static_cast<double>(set.correct) / tokens, 2));
      row.push_back(percent(static_cast<double>(set.majority_correct) / tokens, 2));
    } else {
      row.push_back(fixed(std::exp(set.loss.mean()), 3));
      row.push_back(fixed(set.loss.mean() / std::log(2.0), 4));
    }
    table.add_row(std::move(row));
  }
  return table.render(style.cells);
}

std::string verdict_text(const RunReport& report, const TextStyle& style) {
  std::size_t failed = 0;
  for (const CheckResult& check : report.checks) failed += check.holds ? 0 : 1;
  const std::string all = std::to_string(report.checks.size());
  if (report.holds()) return toned("All " + all + " checks hold.", Tone::kGood, style);
  return toned(
      std::to_string(failed) + " of " + all + (failed == 1 ? " checks does not hold." : " checks do not hold."),
      Tone::kBad, style);
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
  out += checks_text(report.checks, style) + "\n" + verdict_text(report, style) + "\n";
  return out + list_text("Files", input.files) + list_text("Figures", input.figures);
}

}  // namespace samegrad
