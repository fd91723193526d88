// What a rank says about peers that did not come: who, where, when, what to do. Pure text, without the "[comm]".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "samegrad/comm/call_record.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/comm/status_record.h"

namespace samegrad {

/// A peer that is missing, and what is known of it.
struct MissingPeer {
  int rank = 0;
  int pid = 0;  ///< 0: it has not joined
  CallRecord last_call{};
  char process_state = '?';            ///< comm/process_watch.h; '?': it cannot be seen from here
  std::optional<RankStatus> status{};  ///< its record, where this process can read it
};

/// By a signal or a debugger. Local.
bool is_stopped(const MissingPeer& peer);

/// Of peers that are late: the first that is stopped, else the first. At least one.
int likely_culprit(std::span<const MissingPeer> peers);

/// The peer's process has ended without a word, with exit code 0, another, or by a signal.
std::string message_died(const MissingPeer& peer, const CallLabel& awaited);
/// The peer left in good order, although this rank still waits for it.
std::string message_left(const MissingPeer& peer, const CallLabel& awaited);
/// The peer failed and said why (`reason` may be empty).
std::string message_failed(const MissingPeer& peer, const CallLabel& awaited, std::string_view reason);
/// The connection to the peer, which runs on `host`, closed without a word of it.
std::string message_lost(const MissingPeer& peer, std::string_view host, const CallLabel& awaited);
/// The peers live, but did not come within the label's timeout. At least one. `waiting`: the ranks that have come.
std::string message_late(std::span<const MissingPeer> peers, std::span<const int> waiting, const CallLabel& awaited);
/// The peer is stopped in the call.
std::string message_stopped(const MissingPeer& peer, const CallLabel& call);
/// The peer has not come yet.
std::string message_awaited(const MissingPeer& peer, const CallLabel& awaited);
/// This rank, `rank`, has left for `reason` (may be empty) and calls all the same.
std::string message_has_left(int rank, std::string_view reason);
/// Two ranks met in different calls.
std::string message_different_calls(int rank, const CallRecord& call, int other_rank, const CallRecord& other_call);

}  // namespace samegrad
