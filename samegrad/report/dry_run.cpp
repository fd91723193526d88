#include "samegrad/report/dry_run.h"

#include <algorithm>
#include <utility>

#include "samegrad/report/facts_list.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"
#include "samegrad/report/wrap.h"

namespace samegrad {
namespace {

std::string memory_text(const MemoryEstimate& memory, const TextStyle& style) {
  const std::vector<std::pair<std::string, std::string>> facts{
      {"parameters", bytes_text(memory.parameters)},
      {"optimizer", bytes_text(memory.optimizer)},
      {"gradients", bytes_text(memory.gradients)},
      {"activations", bytes_text(memory.activations) + " for the largest atom of the first window"},
      {"together", bytes_text(memory.total()) + ", and libtorch itself"}};
  return facts_list(facts, style);
}

std::string window_text(const DryRun& dry_run, const TextStyle& style) {
  const std::vector<RankWindow>& ranks = dry_run.first_window;
  const bool counts_tokens = dry_run.counted == "supervised tokens";
  std::vector<Column> columns;
  for (const char* title : {"rank", "atoms", "samples", "input tokens", "supervised tokens", "share"}) {
    columns.push_back({title, Align::kRight});
  }
  if (!counts_tokens) columns.push_back({"of N: " + dry_run.counted, Align::kRight});
  Table table(std::move(columns));
  std::int64_t all = 0;
  std::int64_t most = 0;
  LossSum units;
  for (const RankWindow& rank : ranks) {
    all += rank.supervised_tokens;
    most = std::max(most, rank.supervised_tokens);
    units.count += rank.units.count;
    if (rank.units.weight) units.weight = units.weight.value_or(0.0) + *rank.units.weight;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double share = all == 0 ? 0.0 : static_cast<double>(ranks[r].supervised_tokens) / static_cast<double>(all);
    std::vector<std::string> row{std::to_string(r),
                                 grouped(ranks[r].atoms),
                                 grouped(ranks[r].samples),
                                 grouped(ranks[r].input_tokens),
                                 grouped(ranks[r].supervised_tokens),
                                 percent(share, 1)};
    if (!counts_tokens) row.push_back(divisor_text(ranks[r].units));
    table.add_row(std::move(row));
  }
  std::string text = table.render(style.cells);
  if (all == 0) return text + "No supervised token on any rank.\n";
  const double mean = static_cast<double>(all) / static_cast<double>(ranks.size());
  return text + "N = " + (counts_tokens ? grouped(all) : divisor_text(units) + " (" + dry_run.counted + ")") +
         "; the fullest rank holds " + percent(static_cast<double>(most) / mean - 1.0, 1) + " more " +
         (counts_tokens ? "" : "tokens ") + "than the mean.\n" + "Cost: the largest atom " +
         times_mean(dry_run.cost.atoms) + ", the fullest rank " + times_mean(dry_run.cost.ranks) + ".\n";
}

}  // namespace

std::string dry_run_tables(const DryRun& dry_run, const TextStyle& style) {
  std::string text = toned("Data", Tone::kStrong, style) + "\n";
  for (const std::string& line : dry_run.data_lines) {
    for (const std::string& part : wrap(line, style.cells - 2)) text += "  " + part + "\n";
  }
  text +=
      "\n" + toned("Memory of one rank, estimated", Tone::kStrong, style) + "\n" + memory_text(dry_run.memory, style);
  text += "\n" + toned("Window of update " + std::to_string(dry_run.first_update), Tone::kStrong, style) + "\n" +
          window_text(dry_run, style);
  return text;
}

}  // namespace samegrad
