// A call as ranks tell each other about it, to be compared, and to be named when a rank is missing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "samegrad/comm/communicator.h"

namespace samegrad {

enum class CallOperation : std::uint32_t {
  kNone = 0,
  kAllToAll,
  kAllGather,
  kBroadcast,
  kBarrier,
  kAllReduce,
  kReduce
};

inline constexpr CallOperation kLastCallOperation = CallOperation::kReduce;
inline constexpr CallDtype kLastCallDtype = CallDtype::kFloat64;

/// "all_gather", ...; "nothing" for kNone. Local.
std::string_view operation_name(CallOperation operation);

/// "float32", "float64"; "" for kBytes. Local.
std::string_view dtype_name(CallDtype dtype);

/// What a rank called. Plain bytes: it travels through shared memory and sockets.
struct CallRecord {
  CallOperation operation = CallOperation::kNone;
  std::int32_t root = 0;
  std::uint64_t bytes = 0;  ///< of this rank's part, the same on all ranks
  CallDtype dtype = CallDtype::kBytes;
  std::uint32_t number = 0;  ///< which collective call of this rank it is, from 1, modulo 2^32
  std::array<char, 48> name{};
  std::int64_t update = 0;
  std::int64_t entered_ns = 0;  ///< monotonic_ns() of this host
};

/// A clock that all processes of a host share, nanoseconds: to a timer tick, a few milliseconds, in a tenth of the time
/// that an exact one takes. It stands while the host sleeps. Local.
std::int64_t monotonic_ns();

/// The record of a call that begins now. A longer name is cut, bytes of it that are not printable ASCII become '?'.
/// Local.
CallRecord record_call(CallOperation operation, int root, std::size_t bytes, const CallLabel& label);

/// Whether two ranks that meet in these called the same. Local.
bool same_call(const CallRecord& a, const CallRecord& b);

/// Of what same_call compares: equal where it holds, and but for one chance in 2^64 only there. Local.
std::uint64_t call_mark(const CallRecord& call);

}  // namespace samegrad
