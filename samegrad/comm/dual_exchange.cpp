#include "samegrad/comm/dual_exchange.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"

namespace samegrad {
namespace {

constexpr std::int64_t kElements = 100'000;

// Exact in float: below 2^24.
float expected_value(std::int64_t from, std::int64_t to, std::int64_t element) {
  return static_cast<float>((element * 31 + from * 1009 + to * 9176) % 16'777'213);
}

// "" where all are as they must be.
std::string first_wrong_value(std::span<const float> received, int rank) {
  for (std::size_t i = 0; i < received.size(); ++i) {
    const int from = static_cast<int>(i / kElements);
    const auto element = static_cast<std::int64_t>(i % kElements);
    const float expected = expected_value(from, rank, element);
    if (received[i] != expected) {
      return "[env] exchange of a tensor: element " + std::to_string(element) + " from rank " + std::to_string(from) +
             " to rank " + std::to_string(rank) + " is " + std::to_string(received[i]) + ", must be " +
             std::to_string(expected);
    }
  }
  return "";
}

bool has_duplicate(std::vector<std::int64_t> values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) != values.end();
}

}  // namespace

DualExchange dual_exchange_check(Communicator& comm, const CallLabel& label) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<float> send(ranks * kElements);
  std::vector<float> received(send.size());
  for (std::size_t i = 0; i < send.size(); ++i) {
    send[i] =
        expected_value(comm.rank(), static_cast<std::int64_t>(i / kElements), static_cast<std::int64_t>(i % kElements));
  }
  comm.all_to_all(std::as_bytes(std::span(send)), std::as_writable_bytes(std::span(received)), label);
  DualExchange exchange;
  exchange.elements = kElements;
  exchange.pids.resize(ranks);
  const std::int64_t pid = getpid();
  comm.all_gather(std::as_bytes(std::span(&pid, 1)), std::as_writable_bytes(std::span(exchange.pids)), label);
  std::string failure = first_wrong_value(received, comm.rank());
  if (failure.empty() && has_duplicate(exchange.pids)) {
    failure = "[env] ranks share a process: every rank must be a process of its own";
  }
  agree_no_failure(comm, failure, static_cast<int>(ExitCode::kCheckFailed), label);
  return exchange;
}

}  // namespace samegrad
