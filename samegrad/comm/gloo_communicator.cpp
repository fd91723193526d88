#include "samegrad/comm/gloo_communicator.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/c10d_guard.h"
#include "samegrad/comm/c10d_store.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// Ranks that have met in the store connect within this, or one of them has died in between.
constexpr milliseconds kLongestConnect{120'000};
/// A peer whose connection closes has said why before, or it says it now, or never.
constexpr milliseconds kLastWords{2'000};
constexpr milliseconds kSlice{50};

constexpr std::string_view kLeft = "left";
constexpr std::string_view kFailed = "failed";

std::string end_key(int rank) { return "end/" + std::to_string(rank); }

at::Tensor as_tensor(std::byte* data, std::size_t bytes) {
  return at::from_blob(data, {static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kByte));
}

/// Never 0, which means no limit to Gloo, and not shorter than the deadline.
milliseconds left_of(const Deadline& deadline) { return deadline.left() + milliseconds{1}; }

}  // namespace

struct GlooCommunicator::Connections {
  using Work = c10::intrusive_ptr<c10d::Work>;

  // Messages between two ranks arrive in the order in which they are sent, so one tag is enough.
  static constexpr int kTag = 0;

  Work send(std::span<const std::byte> bytes, int peer) {
    std::vector<at::Tensor> tensors{as_tensor(const_cast<std::byte*>(bytes.data()), bytes.size())};
    return group->send(tensors, peer, kTag);
  }

  Work receive(std::span<std::byte> bytes, int peer) {
    std::vector<at::Tensor> tensors{as_tensor(bytes.data(), bytes.size())};
    return group->recv(tensors, peer, kTag);
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
};

GlooCommunicator::GlooCommunicator(std::shared_ptr<C10dStore> store, int rank, std::vector<RankFacts> ranks,
                                   milliseconds timeout, std::size_t most_message_bytes)
    : store_(std::move(store)),
      rank_(rank),
      ranks_(std::move(ranks)),
      most_message_bytes_(most_message_bytes),
      watches_(ranks_.size()),
      calls_(ranks_.size()),
      connections_(std::make_unique<Connections>()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  SAMEGRAD_CHECK_OP(rank, >=, 0);
  SAMEGRAD_CHECK_OP(rank, <, size());
  const std::string& host = ranks_[static_cast<std::size_t>(rank)].host;
  for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
    if (ranks_[peer].host == host && peer != static_cast<std::size_t>(rank)) {
      watches_[peer].emplace(ranks_[peer].pid, ranks_[peer].start_time);
    }
  }
  const std::string address = reachable_address(ranks_, rank);
  const C10dGuard guard;
  try {
    auto options = c10d::ProcessGroupGloo::Options::create(std::min(timeout, kLongestConnect));
    options->threads = 1;
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    connections_->group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", store_->c10d()), rank, size(), std::move(options));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw RunError("comm", "rank " + std::to_string(rank) + " at " + address +
                               " cannot connect with the others: " + text.substr(0, text.find('\n')));
  }
}

GlooCommunicator::~GlooCommunicator() {
  const bool failed = broken_ || std::uncaught_exceptions() > exceptions_at_start_;
  end_as(failed ? kFailed : kLeft, "");
}

void GlooCommunicator::leave(std::string_view reason) {
  if (!broken_) {
    broken_ = std::make_exception_ptr(RunError("comm", message_has_left(rank_, reason)));
  }
  end_as(kFailed, reason);
}

void GlooCommunicator::end_as(std::string_view state, std::string_view reason) {
  if (std::exchange(said_end_, true)) {
    return;
  }
  try {
    store_->set(end_key(rank_), std::string(state).append("\n").append(reason));
  } catch (const std::exception&) {
    // The store went with its owner; the others see the closed connections.
  }
}

void GlooCommunicator::all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) {
  const auto ranks = static_cast<std::size_t>(size());
  SAMEGRAD_CHECK_OP(send.size() % ranks, ==, 0U);
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size());
  const std::size_t block = send.size() / ranks;
  const auto part = [block](auto all, int peer) { return all.subspan(static_cast<std::size_t>(peer) * block, block); };
  std::ranges::copy(part(send, rank_), part(recv, rank_).begin());
  move(
      record_call(CallOperation::kAllToAll, 0, send.size(), label), [&](int peer) { return part(send, peer); },
      [&](int peer) { return part(recv, peer); }, label);
}

void GlooCommunicator::all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) {
  SAMEGRAD_CHECK_OP(recv.size(), ==, send.size() * static_cast<std::size_t>(size()));
  const auto place = [&](int peer) { return recv.subspan(static_cast<std::size_t>(peer) * send.size(), send.size()); };
  std::ranges::copy(send, place(rank_).begin());
  move(
      record_call(CallOperation::kAllGather, 0, send.size(), label), [&](int) { return send; }, place, label);
}

void GlooCommunicator::broadcast(std::span<std::byte> data, int root, const CallLabel& label) {
  SAMEGRAD_CHECK_OP(root, >=, 0);
  SAMEGRAD_CHECK_OP(root, <, size());
  move(
      record_call(CallOperation::kBroadcast, root, data.size(), label),
      [&](int) { return rank_ == root ? std::span<const std::byte>(data) : std::span<const std::byte>(); },
      [&](int peer) { return peer == root ? data : std::span<std::byte>(); }, label);
}

void GlooCommunicator::barrier(const CallLabel& label) {
  move(
      record_call(CallOperation::kBarrier, 0, 0, label), [](int) { return std::span<const std::byte>(); },
      [](int) { return std::span<std::byte>(); }, label);
}

void GlooCommunicator::run(const CallRecord& call, const CallLabel& label,
                           const std::function<void(const Deadline&)>& move) {
  if (broken_) {
    std::rethrow_exception(broken_);
  }
  try {
    const Deadline deadline(label.timeout);
    meet(call, label, deadline);
    move(deadline);
  } catch (const std::exception& error) {
    broken_ = std::current_exception();
    end_as(kFailed, error.what());
    throw;
  }
}

void GlooCommunicator::move(const CallRecord& call, const Outgoing& outgoing, const Incoming& incoming,
                            const CallLabel& label) {
  run(call, label, [&](const Deadline& deadline) {
    // Blocks are never longer than the call's bytes.
    for (std::size_t offset = 0; offset < call.bytes; offset += most_message_bytes_) {
      const auto piece = [&](auto all) {
        const std::size_t begin = std::min(offset, all.size());
        return all.subspan(begin, std::min(most_message_bytes_, all.size() - begin));
      };
      exchange([&](int peer) { return piece(outgoing(peer)); }, [&](int peer) { return piece(incoming(peer)); }, label,
               deadline);
    }
  });
}

void GlooCommunicator::all_reduce_sum(std::span<float> values, const CallLabel& label) {
  sum_natively(std::as_writable_bytes(values), at::ScalarType::Float, label);
}

void GlooCommunicator::all_reduce_sum(std::span<double> values, const CallLabel& label) {
  sum_natively(std::as_writable_bytes(values), at::ScalarType::Double, label);
}

void GlooCommunicator::sum_natively(std::span<std::byte> values, at::ScalarType dtype, const CallLabel& label) {
  run(record_call(CallOperation::kAllReduce, 0, values.size(), label), label, [&](const Deadline& deadline) {
    std::vector<at::Tensor> tensors{
        at::from_blob(values.data(), {static_cast<std::int64_t>(values.size() / c10::elementSize(dtype))}, dtype)};
    c10d::AllreduceOptions options;
    options.timeout = left_of(deadline);
    const C10dGuard guard;
    try {
      connections_->group->allreduce(tensors, options)->wait(options.timeout);
    } catch (const std::exception& error) {
      // Gloo names no rank; one whose process has ended is the likely one.
      for (int peer = 0; peer < size(); ++peer) {
        if (peer != rank_ && process_ended(peer)) throw_peer_failure(peer, label, deadline);
      }
      const std::string text = error.what();
      throw RunError("comm", "Gloo's all-reduce of '" + std::string(label.name) +
                                 "' failed and names no rank: " + text.substr(0, text.find('\n')));
    }
  });
}

void GlooCommunicator::meet(const CallRecord& call, const CallLabel& label, const Deadline& deadline) {
  std::vector<CallRecord> arriving(ranks_.size());
  calls_[static_cast<std::size_t>(rank_)] = call;
  exchange([&](int) { return std::as_bytes(std::span(&call, 1)); },
           [&](int peer) { return std::as_writable_bytes(std::span(&arriving[static_cast<std::size_t>(peer)], 1)); },
           label, deadline);
  for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
    if (peer != static_cast<std::size_t>(rank_)) {
      calls_[peer] = arriving[peer];
      calls_[peer].entered_ns = monotonic_ns();  // the other host has another clock
    }
  }
  for (int peer = 1; peer < size(); ++peer) {
    if (const CallRecord& other = calls_[static_cast<std::size_t>(peer)]; !same_call(calls_.front(), other)) {
      throw RunError("comm", message_different_calls(calls_.front(), peer, other));
    }
  }
}

void GlooCommunicator::exchange(const Outgoing& outgoing, const Incoming& incoming, const CallLabel& label,
                                const Deadline& deadline) {
  std::vector<std::pair<int, Connections::Work>> pending;
  int peer = 0;
  const C10dGuard guard;
  try {
    for (peer = 0; peer < size(); ++peer) {
      if (const std::span<std::byte> bytes = incoming(peer); peer != rank_ && !bytes.empty()) {
        pending.emplace_back(peer, connections_->receive(bytes, peer));
      }
    }
    for (peer = 0; peer < size(); ++peer) {
      if (const std::span<const std::byte> bytes = outgoing(peer); peer != rank_ && !bytes.empty()) {
        pending.emplace_back(peer, connections_->send(bytes, peer));
      }
    }
    for (const auto& [other, work] : pending) {
      peer = other;
      work->wait(left_of(deadline));
    }
  } catch (const std::exception&) {  // whatever Gloo says, it says of its connection with `peer`
    throw_peer_failure(peer, label, deadline);
  }
}

void GlooCommunicator::throw_peer_failure(int peer, const CallLabel& label, const Deadline& deadline) const {
  const auto index = static_cast<std::size_t>(peer);
  MissingPeer missing{peer, ranks_[index].pid, calls_[index], false};
  if (deadline.passed()) {
    missing.stopped = watches_[index] && process_is_stopped(missing.pid);
    throw PeerError("comm", message_late(std::span(&missing, 1), label), peer);
  }
  const std::string words = last_words(peer);
  const std::size_t line = std::min(words.find('\n'), words.size());
  if (words.substr(0, line) == kLeft) {
    throw PeerError("comm", message_left(missing, label), peer);
  }
  if (!words.empty()) {
    throw PeerError("comm", message_failed(missing, label, std::string_view(words).substr(line + 1)), peer);
  }
  if (process_ended(peer)) {
    throw PeerError("comm", message_died(missing, label), peer);
  }
  throw PeerError("comm", message_lost(missing, ranks_[index].host_name, label), peer);
}

// What the peer wrote when it ended; waits a little, for Gloo may have closed the connection before.
std::string GlooCommunicator::last_words(int peer) const {
  try {
    const Deadline deadline(kLastWords);
    bool ended = false;
    while (!ended && !deadline.passed()) {
      ended = process_ended(peer);
      if (const std::optional<std::string> words = store_->get(end_key(peer), ended ? milliseconds{0} : kSlice)) {
        return *words;
      }
    }
  } catch (const RunError&) {
    // The store is gone, perhaps with the peer.
  }
  return "";
}

bool GlooCommunicator::process_ended(int peer) const {
  const std::optional<ProcessWatch>& watch = watches_[static_cast<std::size_t>(peer)];
  return watch && watch->ended();
}

}  // namespace samegrad
