#include "samegrad/comm/call_record.h"

#include <algorithm>
#include <chrono>

namespace samegrad {

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

CallRecord record_call(CallOperation operation, int root, std::size_t bytes, const CallLabel& label) {
  CallRecord call;
  call.operation = operation;
  call.root = root;
  call.bytes = bytes;
  call.update = label.update;
  std::copy_n(label.name.begin(), std::min(label.name.size(), call.name.size() - 1), call.name.begin());
  call.entered_ns = monotonic_ns();
  return call;
}

bool same_call(const CallRecord& a, const CallRecord& b) {
  return a.operation == b.operation && a.root == b.root && a.bytes == b.bytes && a.name == b.name;
}

}  // namespace samegrad
