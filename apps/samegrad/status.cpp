// `samegrad status RUN`: where the ranks of a training are, from the records that they keep (comm/status_record.h).
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "apps/samegrad/command_config.h"
#include "apps/samegrad/commands.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/comm/process_watch.h"
#include "samegrad/comm/status_record.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"

namespace samegrad {
namespace {

/// A rank for which others have waited for longer than this is slow.
constexpr double kSlowAfterSeconds = 1.0;

struct RankRow {
  RankStatus status;
  std::string condition;  ///< running, waiting, slow, stopped, dead, done, failed, elsewhere
  double since_seconds = 0;
};

double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  return std::max(0.0, static_cast<double>(to_ns - from_ns) * 1e-9);
}

bool has_ended(const RankRow& row) {
  return row.condition == "done" || row.condition == "failed" || row.condition == "dead";
}

std::string condition_of(const RankStatus& status, const std::vector<RankStatus>& all, const std::string& here) {
  if (status.state == RankState::kDone || status.state == RankState::kFailed) {
    return std::string(state_name(status.state));
  }
  if (status.pid_space != here) return "elsewhere";  // its pid says nothing here
  if (ProcessWatch(status.pid, status.start_time).ended()) return "dead";
  if (process_is_stopped(status.pid)) return "stopped";
  const bool awaited = std::ranges::any_of(all, [&](const RankStatus& other) {
    return other.state == RankState::kWaiting && other.collectives > status.collectives &&
           seconds_between(other.entered_monotonic_ns, monotonic_ns()) > kSlowAfterSeconds;
  });
  return awaited ? "slow" : std::string(state_name(status.state));
}

/// Those of the newest start: a folder may hold records of earlier ones, with more ranks. Throws InputError.
std::vector<RankRow> rows_of(const std::filesystem::path& folder) {
  std::vector<RankStatus> all;
  for (const StatusReading& reading : read_status_folder(folder)) {
    if (reading.status) {
      all.push_back(*reading.status);
    } else if (!reading.missing) {
      throw InputError("status", status_path(folder, reading.rank).string() + ": " + reading.reason +
                                     "; a training writes it anew, `samegrad clean` removes it");
    }
  }
  if (all.empty()) return {};
  const int ranks = std::ranges::max(all, {}, &RankStatus::started_realtime_ns).world_size;
  std::erase_if(all, [&](const RankStatus& status) { return status.world_size != ranks; });
  std::vector<RankRow> rows;
  const std::string here = pid_space_of_this_process();
  for (const RankStatus& status : all) {
    // Other hosts' own clocks since their start say nothing here.
    const double since = status.pid_space == here ? seconds_between(status.progress_monotonic_ns, monotonic_ns())
                                                  : seconds_between(status.progress_realtime_ns, realtime_ns());
    rows.push_back({status, condition_of(status, all, here), since});
  }
  return rows;
}

std::string run_state(const std::vector<RankRow>& rows) {
  if (rows.empty()) return "absent";
  if (!std::ranges::all_of(rows, has_ended)) return "running";
  const bool well = std::ranges::all_of(rows, [](const RankRow& row) { return row.condition == "done"; });
  return well ? "finished" : "failed";
}

std::string call_text(const RankStatus& status) {
  if (status.call.operation == CallOperation::kNone) return "none yet";
  return std::string(status.state == RankState::kWaiting ? "in " : "after ") + std::to_string(status.collectives) +
         ": " + std::string(operation_name(status.call.operation)) + " '" + status.call.name.data() + "'";
}

Json to_json(const std::vector<RankRow>& rows, const std::filesystem::path& folder) {
  Json ranks = Json::array();
  for (const RankRow& row : rows) {
    const RankStatus& status = row.status;
    ranks.push_back({{"rank", status.rank},
                     {"pid", status.pid},
                     {"host", status.host},
                     {"condition", row.condition},
                     {"update", status.update},
                     {"phase", status.phase},
                     {"collectives", status.collectives},
                     {"in_collective", status.state == RankState::kWaiting},
                     {"operation", operation_name(status.call.operation)},
                     {"name", status.call.name.data()},
                     {"call_update", status.call.update},
                     {"bytes", status.call.bytes},
                     {"seconds_since_progress", row.since_seconds}});
  }
  const int size = rows.empty() ? 0 : rows.front().status.world_size;
  return {{"state", run_state(rows)}, {"folder", folder.string()}, {"world_size", size}, {"ranks", ranks}};
}

std::string to_text(const std::vector<RankRow>& rows, const std::filesystem::path& folder) {
  if (rows.empty()) return "no training has left a record in " + folder.string() + "\n";
  Table table({{"rank", Align::kRight},
               {"pid", Align::kRight},
               {"host"},
               {"is"},
               {"update", Align::kRight},
               {"phase"},
               {"collective call"},
               {"since", Align::kRight}});
  for (const RankRow& row : rows) {
    const RankStatus& status = row.status;
    table.add_row({std::to_string(status.rank), std::to_string(status.pid), status.host, row.condition,
                   std::to_string(status.update), status.phase, call_text(status), duration_text(row.since_seconds)});
  }
  const std::string state = run_state(rows);
  const int size = rows.front().status.world_size;
  std::string text = table.render() + "\n" + std::to_string(size) + (size == 1 ? " rank: " : " ranks: ") +
                     (state == "running"    ? "the training runs"
                      : state == "finished" ? "the training has ended in good order"
                                            : "the training has failed") +
                     "\n";
  if (static_cast<int>(rows.size()) < size) {
    text += std::to_string(size - static_cast<int>(rows.size())) + " of them have left no record\n";
  }
  return text;
}

}  // namespace

int run_status(const CommandLine& command) {
  const RunPaths paths(command.run);
  require_run_folder("status", paths);
  const std::vector<RankRow> rows = rows_of(paths.status);
  std::cout << (command.json ? to_json(rows, paths.status).dump(2) + "\n" : to_text(rows, paths.status));
  return 0;
}

}  // namespace samegrad
