#include "samegrad/report/dry_run.h"

#include <algorithm>
#include <utility>

#include "samegrad/report/facts_list.h"
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

std::string window_text(const std::vector<RankWindow>& ranks, const TextStyle& style) {
  std::vector<Column> columns;
  for (const char* title : {"rank", "atoms", "samples", "input tokens", "supervised tokens", "share"}) {
    columns.push_back({title, Align::kRight});
  }
  Table table(std::move(columns));
  std::int64_t all = 0;
  std::int64_t most = 0;
  for (const RankWindow& rank : ranks) {
    all += rank.supervised_tokens;
    most = std::max(most, rank.supervised_tokens);
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double share = all == 0 ? 0.0 : static_cast<double>(ranks[r].supervised_tokens) / static_cast<double>(all);
    table.add_row({std::to_string(r), grouped(ranks[r].atoms), grouped(ranks[r].samples),
                   grouped(ranks[r].input_tokens), grouped(ranks[r].supervised_tokens), percent(share, 1)});
  }
  std::string text = table.render(style.cells);
  if (all == 0) return text + "No supervised token on any rank.\n";
  const double mean = static_cast<double>(all) / static_cast<double>(ranks.size());
  return text + "N = " + grouped(all) + "; the fullest rank holds " +
         percent(static_cast<double>(most) / mean - 1.0, 1) + " more than the mean.\n";
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
          window_text(dry_run.first_window, style);
  return text;
}

}  // namespace samegrad
