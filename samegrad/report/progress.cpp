#include "samegrad/report/progress.h"

#include <algorithm>
#include <cmath>

#include "samegrad/report/facts_list.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"

namespace samegrad {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string plural(std::int64_t count, const std::string& noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string updates_text(const RunHeader& header) {
  std::string text = std::to_string(header.first_update) + " to " + std::to_string(header.last_update);
  if (header.last_update != header.total_updates) text += " of " + std::to_string(header.total_updates);
  return text;
}

// Four significant digits whatever the size: 0.1, 0.0003162, 1.2e-07.
std::string rate_text(double value) {
  return value == 0.0 || std::abs(value) >= 1e-4 ? shortest(std::round(value * 1e7) / 1e7) : scientific(value, 3);
}

std::string norm_text(double value) {
  const double size = std::abs(value);
  return size == 0.0 || (size >= 1e-3 && size < 1e5) ? fixed(value, 4) : scientific(value, 3);
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string window_text(const RunHeader& header) {
  return plural(header.atoms, "atom") + " of " + plural(header.samples_per_atom, "sample") +
         (header.balanced ? " on average, balanced by cost" : "") + "; the first one has " +
         plural(header.first_window_tokens, "supervised token");
}

}  // namespace

std::string header_text(const RunHeader& header, const TextStyle& style) {
  Facts facts{{"action", header.action},
              {"model", header.model},
              {"parameters", grouped(header.parameters)},
              {"data", header.data},
              {"updates", updates_text(header)},
              {"window", window_text(header)},
              {"cost", "first window: largest atom " + times_mean(header.cost.atoms) + ", fullest rank " +
                           times_mean(header.cost.ranks)},
              {"objective", header.objective},
              {"optimizer", header.optimizer},
              {"processes", std::to_string(header.world_size) + " (" + header.transport + "), " + header.device +
                                ", one thread each"},
              {"kernels", header.kernels}};
  facts.insert(facts.end(), header.places.begin(), header.places.end());
  return toned("samegrad train, run " + header.run_id, Tone::kStrong, style) + "\n" + facts_list(facts, style);
}

std::string progress_line(const Progress& progress) {
  const std::string last = std::to_string(progress.last_update);
  std::string line = "update " + right_aligned(std::to_string(progress.update), last.size()) + "/" + last;
  if (progress.stepped) {
    line += "  loss " + fixed(progress.loss.mean(), 5) + "  norm " + norm_text(progress.gradient_norm) + "  lr " +
            rate_text(progress.learning_rate);
  } else {
    line += "  skipped, nothing moved";
  }
  line += "  " + grouped(std::llround(std::min(progress.tokens_per_second, 1e15))) + " tok/s";
  if (progress.update < progress.last_update) line += "  " + duration_text(progress.seconds_left) + " left";
  return line;
}

bool progress_line_due(std::int64_t update, std::int64_t first_update, std::int64_t last_update, std::int64_t every) {
  return update == first_update || update == last_update || (every > 0 && update % every == 0);
}

std::string rank_work_table(std::span<const RankWork> ranks, const TextStyle& style) {
  std::int64_t all_tokens = 0;
  for (const RankWork& rank : ranks) all_tokens += rank.supervised_tokens;
  std::vector<Column> columns;
  for (const char* title : {"rank", "supervised tokens", "share", "compute s", "wait s", "exchange s"}) {
    columns.push_back({title, Align::kRight});
  }
  Table table(std::move(columns));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankWork& rank = ranks[r];
    const double share =
        all_tokens == 0 ? 0.0 : static_cast<double>(rank.supervised_tokens) / static_cast<double>(all_tokens);
    table.add_row({std::to_string(r), grouped(rank.supervised_tokens), percent(share, 1),
                   fixed(rank.compute_seconds, 2), fixed(rank.wait_seconds, 2), fixed(rank.exchange_seconds, 2)});
  }
  return table.render(style.cells);
}

std::string summary_text(const RunSummary& summary, const TextStyle& style) {
  const bool did_anything = summary.update >= summary.first_update;
  Facts facts;
  if (did_anything) {
    facts.emplace_back("updates", std::to_string(summary.first_update) + " to " + std::to_string(summary.update) +
                                      " of " + std::to_string(summary.total_updates));
    facts.emplace_back("loss", fixed(summary.first_loss.mean(), 5) + " -> " + fixed(summary.last_loss.mean(), 5) +
                                   " (first and last window, S/N)");
    facts.emplace_back(
        "tokens",
        grouped(summary.supervised_tokens) + " supervised in " + duration_text(summary.seconds) + ", " +
            grouped(std::llround(static_cast<double>(summary.supervised_tokens) / std::max(summary.seconds, 1e-9))) +
            " a second");
  } else {
    facts.emplace_back("updates", "none: already at update " + std::to_string(summary.update) + " of " +
                                      std::to_string(summary.total_updates));
  }
  if (summary.skipped_windows > 0) {
    facts.emplace_back("skipped", plural(summary.skipped_windows, "window") + ", nothing moved in them");
  }
  facts.insert(facts.end(), summary.places.begin(), summary.places.end());
  std::string out = toned(summary.outcome, Tone::kStrong, style) + "\n" + facts_list(facts, style);
  if (did_anything && !summary.ranks.empty()) out += "\n" + rank_work_table(summary.ranks, style);
  // One line however long it is: to be copied.
  if (!summary.next.empty()) out += "\nnext: " + summary.next + "\n";
  return out;
}

}  // namespace samegrad
