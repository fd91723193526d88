// outputs/metrics.jsonl: one JSON object a line, one line an update (docs/formats.md). Runs share the file; each line
// says whose it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "samegrad/base/json.h"

namespace samegrad {

/// Appends the lines of one run. Each line reaches the kernel before append returns, in one write: a killed process
/// loses none. One process of a run has one.
class MetricsLog {
 public:
  /// Throws what the constructor would throw for `path` and `run_id` ("": a run without lines), and changes nothing.
  /// Local.
  static void check(const std::filesystem::path& path, const std::string& run_id);

  /// Opens `path`, or makes it and its folder. What is already there stays, but for
  ///   - lines of run `run_id` (of any kind) past `keep_until_update`: a resume writes them again;
  ///   - a last line that a crash cut short: dropped, with a warning.
  /// A file that changes so is replaced atomically. Throws InputError naming file and line where a line of this run is
  /// not a JSON object, or `path` is no regular file; RunError where it cannot be written. Local.
  MetricsLog(const std::filesystem::path& path, std::string run_id, std::string kind, std::int64_t keep_until_update);
  ~MetricsLog();
  MetricsLog(MetricsLog&& other) noexcept;
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;
  MetricsLog& operator=(MetricsLog&&) = delete;

  /// Writes a line of run_id, kind and the members of `fields`. Numbers must be finite: JSON has no others. Throws
  /// RunError, also where the file has been removed or moved away meanwhile. Local.
  void append(const Json& fields);

 private:
  std::filesystem::path path_;
  std::string run_id_;
  std::string kind_;
  int descriptor_ = -1;
};

/// Calls `take(line, number)` for each line of all runs, in file order, numbers from 1; none is kept. A last line that
/// a crash cut short is left out. Throws InputError: `file:line: reason` for one that is not a JSON object. Local.
void for_each_metrics_line(const std::filesystem::path& path,
                           const std::function<void(const Json&, std::int64_t)>& take);

/// All lines of all runs, as for_each_metrics_line. Local.
std::vector<Json> read_metrics(const std::filesystem::path& path);

}  // namespace samegrad
