// What a rank says about peers that did not come: who, where, when, what to do. Pure text, without the "[comm]".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "samegrad/comm/call_record.h"
#include "samegrad/comm/communicator.h"

namespace samegrad {

/// A peer that is missing, and what it called last.
struct MissingPeer {
  int rank = 0;
  int pid = 0;  ///< 0: it has not joined
  CallRecord last_call;
  bool stopped = false;  ///< by a signal or a debugger
};

/// The peer's process has ended without a word.
std::string message_died(const MissingPeer& peer, const CallLabel& awaited);
/// The peer left in good order, although this rank still waits for it.
std::string message_left(const MissingPeer& peer, const CallLabel& awaited);
/// The peer failed and said why (`reason` may be empty).
std::string message_failed(const MissingPeer& peer, const CallLabel& awaited, std::string_view reason);
/// The connection to the peer, which runs on `host`, closed without a word of it.
std::string message_lost(const MissingPeer& peer, std::string_view host, const CallLabel& awaited);
/// The peers live, but did not come within the label's timeout. At least one.
std::string message_late(std::span<const MissingPeer> peers, const CallLabel& awaited);
/// This rank, `rank`, has left for `reason` (may be empty) and calls all the same.
std::string message_has_left(int rank, std::string_view reason);
/// Rank 0 and `rank` met in different calls.
std::string message_different_calls(const CallRecord& of_rank_0, int rank, const CallRecord& other);

}  // namespace samegrad
