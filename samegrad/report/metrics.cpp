#include "samegrad/report/metrics.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/base/mapped_file.h"
#include "samegrad/base/regular_file.h"
#include "samegrad/base/untrusted_json.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "metrics";
/// Far above what an update of many ranks takes: a file without line ends must not fill the memory.
constexpr std::size_t kLongestLine = std::size_t{16} << 20;

std::optional<Json> parse_object(std::string_view line) {
  if (line.size() > kLongestLine) return std::nullopt;
  try {
    Json value = parse_untrusted_json(line);
    return value.is_object() ? std::optional(std::move(value)) : std::nullopt;
  } catch (const JsonRefused&) {
    return std::nullopt;
  }
}

Json parse_line(std::string_view line, const std::filesystem::path& path, std::int64_t number) {
  std::optional<Json> value = parse_object(line);
  if (!value) {
    throw InputError(kStage, path.string() + ":" + std::to_string(number) +
                                 ": not a JSON object; take the line out, or move the file away");
  }
  return *std::move(value);
}

/// Calls `take(line, number)` for each line, without its newline. Returns whether the last one was cut short by a
/// crash: it has no newline, is no object, and is not among the calls.
bool for_each_line(std::string_view text, const std::function<void(std::string_view, std::int64_t)>& take) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (end == std::string_view::npos && !parse_object(line)) {
      return true;
    }
    take(line, number);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return false;
}

struct KeptLines {
  std::string text;
  bool cut_short = false;  ///< the last line was, by a crash
};

/// What a log of `run_id` that goes on after `keep_until_update` finds in the file.
KeptLines kept_lines(const MappedFile& file, const std::filesystem::path& path, const std::string& run_id,
                     std::int64_t keep_until_update) {
  // Lines of other runs are passed by unparsed: they may be many, and are not this run's to judge.
  const std::string quoted_run_id = Json(run_id).dump();
  KeptLines kept;
  kept.cut_short = for_each_line(file.bytes(), [&](std::string_view line, std::int64_t number) {
    if (line.find(quoted_run_id) != std::string_view::npos) {
      const Json value = parse_line(line, path, number);
      const Json update = value.value("update", Json());
      if (value.value("run_id", Json()) == run_id && update.is_number() && update > keep_until_update) {
        return;
      }
    }
    kept.text.append(line).append("\n");
  });
  return kept;
}

/// Drops from the file what is not kept.
void drop_lines(const std::filesystem::path& path, const std::string& run_id, std::int64_t keep_until_update) {
  const MappedFile file(path, kStage);
  const KeptLines kept = kept_lines(file, path, run_id, keep_until_update);
  if (kept.cut_short) {
    log_warn("[metrics] " + path.string() + ": its last line was cut short by a crash, and is dropped");
  }
  if (kept.text != file.bytes()) {
    write_file_atomically(path, kept.text);
  }
}

}  // namespace

void MetricsLog::check(const std::filesystem::path& path, const std::string& run_id) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return;
  close(open_for_appending(path, kStage));
  if (run_id.empty()) return;
  const MappedFile file(path, kStage);
  kept_lines(file, path, run_id, 0);
}

MetricsLog::MetricsLog(const std::filesystem::path& path, std::string run_id, std::string kind,
                       std::int64_t keep_until_update)
    : path_(path), run_id_(std::move(run_id)), kind_(std::move(kind)) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    drop_lines(path, run_id_, keep_until_update);
  } else {
    write_file_atomically(path, "");
  }
  descriptor_ = open_for_appending(path, kStage);
}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : path_(std::move(other.path_)),
      run_id_(std::move(other.run_id_)),
      kind_(std::move(other.kind_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

void MetricsLog::append(const Json& fields) {
  Json object = {{"run_id", run_id_}, {"kind", kind_}};
  object.update(fields);
  const std::string line = object.dump() + "\n";
  struct stat own {};
  struct stat there {};
  const bool is_there = stat(path_.c_str(), &there) == 0;
  if (fstat(descriptor_, &own) == 0 && !(is_there && there.st_ino == own.st_ino && there.st_dev == own.st_dev)) {
    throw RunError(kStage, path_.string() + ": was " + (own.st_nlink == 0 ? "removed" : "moved away") +
                               " while the run writes it; put it back where it is still there, and go on from a "
                               "checkpoint, or start again");
  }
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      throw RunError(kStage, path_.string() + ": writing: " + std::strerror(errno));
    }
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

void for_each_metrics_line(const std::filesystem::path& path,
                           const std::function<void(const Json&, std::int64_t)>& take) {
  const MappedFile file(path, kStage);
  for_each_line(file.bytes(),
                [&](std::string_view line, std::int64_t number) { take(parse_line(line, path, number), number); });
}

std::vector<Json> read_metrics(const std::filesystem::path& path) {
  std::vector<Json> lines;
  for_each_metrics_line(path, [&](const Json& line, std::int64_t) { lines.push_back(line); });
  return lines;
}

}  // namespace samegrad
