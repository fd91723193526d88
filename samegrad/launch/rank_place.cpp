#include "samegrad/launch/rank_place.h"

#include <algorithm>

#include "samegrad/comm/status_record.h"

namespace samegrad {

std::optional<RankPlace> rank_place(const std::filesystem::path& folder, int rank, std::int64_t not_before_ns) {
  const StatusReading reading = read_status_file(status_path(folder, rank), rank);
  if (!reading.status || reading.status->started_realtime_ns < not_before_ns) {
    return std::nullopt;
  }
  const RankStatus& status = *reading.status;
  RankPlace place{.update = status.update,
                  .phase = status.phase,
                  .call = "",
                  .in_call = status.state == RankState::kWaiting,
                  .collectives = status.collectives};
  if (status.call.operation != CallOperation::kNone) {
    place.call = std::string(operation_name(status.call.operation)) + " '" + status.call.name.data() + "'" +
                 (status.call.update > 0 ? " of update " + std::to_string(status.call.update) : "");
    place.update = std::max(place.update, status.call.update);
  }
  return place;
}

}  // namespace samegrad
