#include "samegrad/report/table.h"

#include <algorithm>
#include <numeric>

#include "samegrad/base/check.h"
#include "samegrad/report/wrap.h"

namespace samegrad {
namespace {

constexpr std::int64_t kGap = 2;
constexpr std::int64_t kNarrowest = 8;  // below this, wrapped words are no longer readable

std::string padded(const std::string& text, std::int64_t width, Align align) {
  const std::string blanks(static_cast<std::size_t>(std::max<std::int64_t>(0, width - display_width(text))), ' ');
  return align == Align::kRight ? blanks + text : text + blanks;
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line;
  out += '\n';
}

void append_row(std::string& out, const std::vector<Column>& columns, const std::vector<std::int64_t>& widths,
                const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t lines = 1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    wrapped.push_back(wrap(cells[c], widths[c]));
    lines = std::max(lines, wrapped.back().size());
  }
  for (std::size_t l = 0; l < lines; ++l) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c != 0) line.append(kGap, ' ');
      line += padded(l < wrapped[c].size() ? wrapped[c][l] : "", widths[c], columns[c].align);
    }
    append_line(out, std::move(line));
  }
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  SAMEGRAD_CHECK_OP(cells.size(), ==, columns_.size());
  rows_.push_back(std::move(cells));
}

std::size_t Table::lines_needed(const std::vector<std::int64_t>& widths) const {
  std::size_t lines = 0;
  for (const auto& row : rows_) {
    std::size_t tallest = 1;
    for (std::size_t c = 0; c < row.size(); ++c) tallest = std::max(tallest, wrap(row[c], widths[c]).size());
    lines += tallest;
  }
  return lines;
}

std::vector<std::int64_t> Table::column_widths(std::int64_t most_cells) const {
  std::vector<std::int64_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::int64_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  const auto too_wide = [&widths, most_cells] {
    return std::accumulate(widths.begin(), widths.end(), kGap * (static_cast<std::int64_t>(widths.size()) - 1)) >
           most_cells;
  };
  while (too_wide()) {
    std::size_t best = columns_.size();
    std::size_t best_lines = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].align != Align::kLeft || widths[c] <= kNarrowest) continue;
      --widths[c];
      const std::size_t lines = lines_needed(widths);
      ++widths[c];
      if (best == columns_.size() || lines < best_lines || (lines == best_lines && widths[c] > widths[best])) {
        best = c;
        best_lines = lines;
      }
    }
    if (best == columns_.size()) break;
    --widths[best];
  }
  return widths;
}

std::string Table::render(std::int64_t most_cells) const {
  const std::vector<std::int64_t> widths = column_widths(most_cells);
  std::vector<std::string> titles;
  std::string rule;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    if (c != 0) rule.append(kGap, ' ');
    rule.append(static_cast<std::size_t>(widths[c]), '-');
  }
  std::string out;
  append_row(out, columns_, widths, titles);
  append_line(out, rule);
  for (const auto& row : rows_) append_row(out, columns_, widths, row);
  return out;
}

}  // namespace samegrad
