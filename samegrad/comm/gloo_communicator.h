// Ranks that talk through sockets: PyTorch's Gloo moves the bytes (c10d::ProcessGroupGloo), between any hosts.
//
// Gloo names no rank when something fails, and two sizes that differ end one process and let the other go on with
// rubbish. So every call begins with the exchange of one CallRecord, whose size never changes, between each two ranks:
// ranks that called different things see it before any of them sends more. What a rank dies of is left in the
// rendezvous store, where the others look when a connection closes.
#pragma once

#include <c10/core/ScalarType.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/deadline.h"
#include "samegrad/comm/call_record.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/native_all_reduce.h"
#include "samegrad/comm/peer_messages.h"
#include "samegrad/comm/peer_record.h"
#include "samegrad/comm/peer_story.h"
#include "samegrad/comm/process_watch.h"
#include "samegrad/comm/rank_facts.h"

namespace samegrad {

class C10dStore;
class GlooWatch;

/// Bytes of one message: Linux moves less than 2 GiB at once. A longer one goes in pieces.
inline constexpr std::size_t kMostGlooMessageBytes = std::size_t{1} << 30;

class GlooCommunicator final : public Communicator, public NativeAllReduce, public KeepsStatus {
 public:
  /// Connects `rank` with all others, whose facts are `ranks`, by rank. Throws RunError where that does not succeed
  /// within `timeout`. `status`: the record of this rank, where it has one already. Collective.
  GlooCommunicator(std::shared_ptr<C10dStore> store, int rank, std::vector<RankFacts> ranks,
                   std::chrono::milliseconds timeout, std::shared_ptr<StatusWriter> status = nullptr,
                   std::size_t most_message_bytes = kMostGlooMessageBytes);
  /// Leaves: in good order, or as failed where it is destroyed by an exception.
  ~GlooCommunicator() override;
  GlooCommunicator(const GlooCommunicator&) = delete;
  GlooCommunicator& operator=(const GlooCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }
  std::string_view backend() const override { return "gloo"; }
  /// A call waits for its peers twice, so few large ones: the lesson's gradient goes in one.
  std::int64_t piece_bytes() const override { return std::int64_t{1} << 22; }
  void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void broadcast(std::span<std::byte> data, int root, const CallLabel& label) override;
  void barrier(const CallLabel& label) override;
  void leave(std::string_view reason) override;
  void all_reduce_sum(std::span<float> values, const CallLabel& label) override;
  void all_reduce_sum(std::span<double> values, const CallLabel& label) override;
  StatusWriter& status() override { return *status_; }
  std::optional<RankStatus> status_of(int rank) const override;

 private:
  struct Connections;  // PyTorch's side
  /// What goes to a peer, or comes from it; empty: nothing.
  using Outgoing = std::function<std::span<const std::byte>(int peer)>;
  using Incoming = std::function<std::span<std::byte>(int peer)>;

  void run(CallRecord call, const CallLabel& label, const std::function<void(const Deadline&)>& move);
  void move(const CallRecord& call, const Outgoing& outgoing, const Incoming& incoming, const CallLabel& label);
  void meet(const CallRecord& call, const CallLabel& label, const Deadline& deadline);
  void sum_natively(std::span<std::byte> values, at::ScalarType dtype, const CallLabel& label);
  void exchange(const Outgoing& outgoing, const Incoming& incoming, const CallLabel& label, const Deadline& deadline,
                const std::function<bool(int peer)>& fits = {});
  void throw_if_calls_differ(const std::vector<CallRecord>& arrived);
  // What went wrong: gloo_failure.cpp.
  [[noreturn]] void throw_late(const std::vector<int>& late, const CallLabel& label);
  [[noreturn]] void throw_closed(int peer, const CallLabel& label);
  PeerStory story_of_gone(int peer, std::string_view words, const CallLabel& label) const;
  bool must_stop_waiting();
  std::optional<PeerStory> story_by_record(int peer);
  [[noreturn]] void throw_seen();
  [[noreturn]] void throw_native_failure(const std::string& what, const CallLabel& label, const Deadline& deadline);
  [[noreturn]] void tell(PeerStory story);
  MissingPeer missing_peer(int peer) const;
  std::string last_words(int peer, const Deadline& deadline) const;
  void wait_for_ends() const;
  bool process_ended(int peer) const;
  void end_as(std::string_view state, std::string_view reason);

  std::shared_ptr<C10dStore> store_;
  int rank_;
  std::vector<RankFacts> ranks_;
  std::size_t most_message_bytes_;
  std::shared_ptr<StatusWriter> status_;
  std::uint32_t number_ = 0;                          // of calls of this rank so far
  std::vector<std::optional<ProcessWatch>> watches_;  // by rank; of other ranks on this host
  std::vector<std::optional<PeerRecord>> records_;    // by rank; of ranks on this host
  std::vector<CallRecord> calls_;                     // by rank: the newest; of others as they arrived
  std::unique_ptr<Connections> connections_;
  int exceptions_at_start_;
  std::exception_ptr broken_;  // what an earlier call threw, or that this rank has left
  bool said_end_ = false;
  const CallLabel* label_ = nullptr;  // of the call it is in
  std::optional<PeerStory> seen_;     // while waiting
  std::unique_ptr<GlooWatch> watch_;  // last: it uses the others
};

}  // namespace samegrad
