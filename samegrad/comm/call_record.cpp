#include "samegrad/comm/call_record.h"

#include <algorithm>
#include <bit>
#include <ctime>

namespace samegrad {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::string_view operation_name(CallOperation operation) {
  switch (operation) {
    case CallOperation::kAllToAll:
      return "all_to_all";
    case CallOperation::kAllGather:
      return "all_gather";
    case CallOperation::kBroadcast:
      return "broadcast";
    case CallOperation::kAllReduce:
      return "all_reduce";
    case CallOperation::kBarrier:
      return "barrier";
    case CallOperation::kReduce:
      return "reduce";
    case CallOperation::kNone:
      break;
  }
  return "nothing";
}

std::string_view dtype_name(CallDtype dtype) {
  switch (dtype) {
    case CallDtype::kFloat32:
      return "float32";
    case CallDtype::kFloat64:
      return "float64";
    case CallDtype::kBytes:
      break;
  }
  return "";
}

CallRecord record_call(CallOperation operation, int root, std::size_t bytes, const CallLabel& label) {
  CallRecord call;
  call.operation = operation;
  call.root = root;
  call.bytes = bytes;
  call.dtype = label.dtype;
  call.update = label.update;
  const std::string_view name = label.name.substr(0, call.name.size() - 1);
  std::ranges::transform(name, call.name.begin(), [](char c) { return c >= ' ' && c <= '~' ? c : '?'; });
  call.entered_ns = monotonic_ns();
  return call;
}

bool same_call(const CallRecord& a, const CallRecord& b) {
  return a.operation == b.operation && a.root == b.root && a.bytes == b.bytes && a.dtype == b.dtype && a.name == b.name;
}

std::uint64_t call_mark(const CallRecord& call) {
  const auto numbers = static_cast<std::uint64_t>(call.operation) << 40 | static_cast<std::uint64_t>(call.dtype) << 32 |
                       static_cast<std::uint32_t>(call.root);
  std::uint64_t mark = 0;
  const auto add = [&mark](std::uint64_t word) {
    mark = (mark ^ word) * 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    mark ^= mark >> 32;
  };
  add(numbers);
  add(call.bytes);
  for (const std::uint64_t word : std::bit_cast<std::array<std::uint64_t, sizeof(call.name) / 8>>(call.name)) {
    if (word == 0) break;  // there the name has ended
    add(word);
  }
  return mark;
}

}  // namespace samegrad
