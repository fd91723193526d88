#include "samegrad/comm/awaited_rank.h"

#include <algorithm>
#include <vector>

#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/peer_messages.h"
#include "samegrad/comm/process_watch.h"

namespace samegrad {
namespace {

MissingPeer missing_peer(const RankStatus& status) {
  MissingPeer missing{.rank = status.rank, .pid = status.pid, .last_call = status.call};
  missing.last_call.entered_ns = status.entered_monotonic_ns;
  missing.process_state = process_state(status.pid);
  missing.status = status;
  return missing;
}

}  // namespace

std::optional<AwaitedRank> awaited_rank(const Communicator& comm) {
  const auto* const keeper = dynamic_cast<const KeepsStatus*>(&comm);
  const std::optional<RankStatus> own = keeper == nullptr ? std::nullopt : keeper->status_of(comm.rank());
  if (!own || own->state != RankState::kWaiting) return std::nullopt;
  std::vector<MissingPeer> missing;
  std::optional<MissingPeer> stopped_in_the_call;  // it may have brought a part only
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::optional<RankStatus> status = rank == comm.rank() ? std::nullopt : keeper->status_of(rank);
    if (!status || status->pid_space != own->pid_space || own->pid_space.empty()) continue;
    MissingPeer peer = missing_peer(*status);
    if (status->collectives < own->collectives) {
      missing.push_back(std::move(peer));
    } else if (status->collectives == own->collectives && is_stopped(peer) && !stopped_in_the_call) {
      stopped_in_the_call = std::move(peer);
    }
  }
  const CallLabel call{.name = own->call.name.data(), .update = own->call.update};
  if (missing.empty() && stopped_in_the_call) {
    return AwaitedRank{stopped_in_the_call->rank, message_stopped(*stopped_in_the_call, call)};
  }
  if (missing.empty()) return std::nullopt;
  const auto likely = std::ranges::find(missing, likely_culprit(missing), &MissingPeer::rank);
  return AwaitedRank{likely->rank, message_awaited(*likely, call)};
}

}  // namespace samegrad
