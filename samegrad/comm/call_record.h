// A call as ranks tell each other about it, to be compared, and to be named when a rank is missing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "samegrad/comm/communicator.h"

namespace samegrad {

enum class CallOperation : std::uint32_t { kNone = 0, kAllToAll, kAllGather, kBroadcast, kBarrier, kAllReduce };

/// What a rank called. Plain bytes: it travels through shared memory and sockets.
struct CallRecord {
  CallOperation operation = CallOperation::kNone;
  std::int32_t root = 0;
  std::uint64_t bytes = 0;  ///< of this rank's part, the same on all ranks
  std::array<char, 48> name{};
  std::int64_t update = 0;
  std::int64_t entered_ns = 0;  ///< monotonic clock of this host
};

/// Nanoseconds of the clock that all processes of a host share.
std::int64_t monotonic_ns();

/// The record of a call that begins now. A longer name is cut. Local.
CallRecord record_call(CallOperation operation, int root, std::size_t bytes, const CallLabel& label);

/// Whether two ranks that meet in these called the same. Local.
bool same_call(const CallRecord& a, const CallRecord& b);

}  // namespace samegrad
