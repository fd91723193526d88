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
#include "samegrad/comm/gloo_watch.h"
#include "samegrad/comm/rank_end.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// Ranks that have met in the store connect within this, or one of them has died in between.
constexpr milliseconds kLongestConnect{120'000};
/// Where two calls differ, the other ranks' calls are waited for this long, so that all name the same two.
constexpr milliseconds kOthersCalls{200};

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
                                   milliseconds timeout, std::shared_ptr<StatusWriter> status,
                                   std::size_t most_message_bytes)
    : store_(std::move(store)),
      rank_(rank),
      ranks_(std::move(ranks)),
      most_message_bytes_(most_message_bytes),
      status_(status ? std::move(status) : std::make_shared<StatusWriter>(rank, static_cast<int>(ranks_.size()))),
      watches_(ranks_.size()),
      records_(ranks_.size()),
      calls_(ranks_.size()),
      connections_(std::make_unique<Connections>()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  SAMEGRAD_CHECK_OP(rank, >=, 0);
  SAMEGRAD_CHECK_OP(rank, <, size());
  const std::string& host = ranks_[static_cast<std::size_t>(rank)].host;
  for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
    if (ranks_[peer].host != host) continue;
    records_[peer].emplace(ranks_[peer], static_cast<int>(peer));
    if (peer != static_cast<std::size_t>(rank)) watches_[peer].emplace(ranks_[peer].pid, ranks_[peer].start_time);
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
  watch_ = std::make_unique<GlooWatch>([this] { return must_stop_waiting(); });
}

GlooCommunicator::~GlooCommunicator() {
  const bool failed = broken_ || std::uncaught_exceptions() > exceptions_at_start_;
  end_as(failed ? kRankFailed : kRankLeft, "");
}

void GlooCommunicator::leave(std::string_view reason) {
  if (!broken_) {
    broken_ = std::make_exception_ptr(RunError("comm", message_has_left(rank_, reason)));
  }
  end_as(kRankFailed, reason);
}

void GlooCommunicator::end_as(std::string_view state, std::string_view reason) {
  if (std::exchange(said_end_, true)) {
    return;
  }
  status_->end(state == kRankLeft ? RankState::kDone : RankState::kFailed);
  try {
    store_->set(end_key(rank_), std::string(state).append("\n").append(reason));
    if (store_->goes_with_this_process()) wait_for_ends();
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

void GlooCommunicator::run(CallRecord call, const CallLabel& label, const std::function<void(const Deadline&)>& move) {
  if (broken_) {
    std::rethrow_exception(broken_);
  }
  call.number = ++number_;
  label_ = &label;
  status_->enter(call);
  try {
    const Deadline deadline(label.timeout);
    meet(call, label, deadline);
    move(deadline);
  } catch (const std::exception& error) {
    broken_ = std::current_exception();
    end_as(kRankFailed, error.what());
    throw;
  }
  status_->leave();
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
  CallRecord call = record_call(CallOperation::kAllReduce, 0, values.size(), label);
  call.dtype = dtype == at::ScalarType::Double ? CallDtype::kFloat64 : CallDtype::kFloat32;
  run(call, label, [&](const Deadline& deadline) {
    std::vector<at::Tensor> tensors{
        at::from_blob(values.data(), {static_cast<std::int64_t>(values.size() / c10::elementSize(dtype))}, dtype)};
    c10d::AllreduceOptions options;
    options.timeout = left_of(deadline);
    const C10dGuard guard;
    try {
      connections_->group->allreduce(tensors, options)->wait(options.timeout);
    } catch (const std::exception& error) {
      throw_native_failure(error.what(), label, deadline);
    }
  });
}

// Every rank tells every other what it calls, before any sends more.
void GlooCommunicator::meet(const CallRecord& call, const CallLabel& label, const Deadline& deadline) {
  std::vector<CallRecord> arriving(ranks_.size());
  arriving[static_cast<std::size_t>(rank_)] = call;
  calls_[static_cast<std::size_t>(rank_)] = call;
  exchange([&](int) { return std::as_bytes(std::span(&call, 1)); },
           [&](int peer) { return std::as_writable_bytes(std::span(&arriving[static_cast<std::size_t>(peer)], 1)); },
           label, deadline, [&](int peer) { return same_call(arriving[static_cast<std::size_t>(peer)], call); });
  for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
    if (peer != static_cast<std::size_t>(rank_) && arriving[peer].operation != CallOperation::kNone) {
      calls_[peer] = arriving[peer];
      calls_[peer].entered_ns = monotonic_ns();  // the other host has another clock
    }
  }
  throw_if_calls_differ(arriving);
}

// Among those that have come. All that have all ranks' calls name the same two.
void GlooCommunicator::throw_if_calls_differ(const std::vector<CallRecord>& arrived) {
  const auto has_come = [](const CallRecord& call) { return call.operation != CallOperation::kNone; };
  const auto first = std::ranges::find_if(arrived, has_come);  // this rank's own, at the latest
  const auto other =
      std::ranges::find_if(arrived, [&](const CallRecord& call) { return has_come(call) && !same_call(*first, call); });
  if (other != arrived.end()) {
    tell({-1, message_different_calls(static_cast<int>(first - arrived.begin()), *first,
                                      static_cast<int>(other - arrived.begin()), *other)});
  }
}

void GlooCommunicator::exchange(const Outgoing& outgoing, const Incoming& incoming, const CallLabel& label,
                                const Deadline& deadline, const std::function<bool(int peer)>& fits) {
  struct Pending {
    int peer;
    Connections::Work work;
    bool receives;
  };
  std::vector<Pending> pending;
  std::vector<int> late;
  int peer = 0;
  milliseconds at_most = milliseconds::max();  // of each wait, beside the deadline
  const C10dGuard guard;
  try {
    for (peer = 0; peer < size(); ++peer) {
      if (const std::span<std::byte> bytes = incoming(peer); peer != rank_ && !bytes.empty()) {
        pending.push_back({peer, connections_->receive(bytes, peer), true});
      }
    }
    for (peer = 0; peer < size(); ++peer) {
      if (const std::span<const std::byte> bytes = outgoing(peer); peer != rank_ && !bytes.empty()) {
        pending.push_back({peer, connections_->send(bytes, peer), false});
      }
    }
  } catch (const std::exception&) {  // whatever Gloo says, it says of its connection with `peer`
    throw_closed(peer, label);
  }
  for (const Pending& one : pending) {
    bool stops = false;
    try {
      stops = !watch_->wait(one.work, std::min(at_most, left_of(deadline)));
      if (!stops && one.receives && fits && !fits(one.peer)) at_most = kOthersCalls;
    } catch (const std::exception&) {
      if (!deadline.passed() && at_most == milliseconds::max()) throw_closed(one.peer, label);
      // A wait that lasts too long closes all connections: what has not arrived by now does not arrive.
      if (std::ranges::find(late, one.peer) == late.end()) late.push_back(one.peer);
    }
    if (stops) throw_seen();
  }
  // Where calls differ, that is the story, whoever is late.
  if (at_most == milliseconds::max() && !late.empty()) throw_late(late, label);
}

}  // namespace samegrad
