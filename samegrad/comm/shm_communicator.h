// Ranks that share memory: processes of one host, or threads of one process (comm/thread_communicator.h).
//
// A message travels in chunks, whose number follows from sizes that all ranks know. For chunk k a rank writes its part
// into slot k % 2 of its outbox, publishes it by counting up its futex, waits until all have published chunk k, and
// reads the others' slots. A rank publishes chunk k + 1 only after it has read chunk k, so whoever has seen all chunks
// k + 1 may overwrite the slot of chunk k: two slots make one wait per chunk enough.
//
// An exchange in place is two such meetings: in the first, ranks say where in their arenas their memory lies; the
// second ends it.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/comm/communicator.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/peer_messages.h"
#include "samegrad/comm/peer_story.h"
#include "samegrad/comm/process_watch.h"
#include "samegrad/comm/shm_arena.h"
#include "samegrad/comm/shm_region.h"

namespace samegrad {

class ShmCommunicator final : public Communicator, public KeepsStatus, public SharesGradientMemory {
 public:
  /// Joins as `rank`. Throws InputError where that rank has joined already. Does not wait for the others. `status`: the
  /// rank's record, where it has one already. Local.
  ShmCommunicator(std::shared_ptr<ShmRegion> region, int rank, std::shared_ptr<StatusWriter> status = nullptr);
  /// Leaves: in good order, or as failed where it is destroyed by an exception.
  ~ShmCommunicator() override;
  ShmCommunicator(const ShmCommunicator&) = delete;
  ShmCommunicator& operator=(const ShmCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return region_->world_size(); }
  std::string_view backend() const override { return "shm"; }
  void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void broadcast(std::span<std::byte> data, int root, const CallLabel& label) override;
  void barrier(const CallLabel& label) override;
  void leave(std::string_view reason) override;
  StatusWriter& status() override { return *status_; }
  std::optional<RankStatus> status_of(int rank) const override {
    return read_status_image(region_->record(rank).status, rank).status;
  }
  SharesGradientMemory* shares_gradient_memory() override { return this; }
  std::shared_ptr<GradientMemory> gradient_memory() override { return arena_; }
  bool exchange_in_place(const ExchangedMemory& mine, std::size_t bytes,
                         const std::function<void(std::span<const ExchangedMemory> all)>& work,
                         const CallLabel& label) override;

 private:
  struct Plan;  // a message, cut into chunks

  void run(CallRecord call, const std::function<void(const CallRecord& call)>& move_all);
  void move(const Plan& plan, const CallLabel& label);
  void meet(const CallRecord& call, const CallLabel& label, bool begins_call);
  void publish(const CallRecord& call, bool begins_call);
  // In place: shm_exchange.cpp.
  void post(const ExchangedMemory& mine, std::size_t bytes);
  bool read_posts(std::size_t parts, std::size_t bytes);
  // Waiting: shm_wait.cpp.
  bool spin();
  void wait_for_all(const CallLabel& label, bool begins_call);
  void sleep_until_all_came(const CallLabel& label, bool begins_call);
  bool arrived(int peer) const;
  int first_missing() const;
  void throw_if_peer_is_gone(int peer, const CallLabel& label);
  bool process_ended(int peer);
  void throw_late(const CallLabel& label);
  MissingPeer missing_peer(int peer) const;
  void throw_if_calls_differ();
  void throw_if_told() const;
  [[noreturn]] void tell(PeerStory story);
  void end_as(ShmRankState state, std::string_view reason);

  std::shared_ptr<ShmRegion> region_;
  int rank_;
  std::shared_ptr<StatusWriter> status_;
  std::shared_ptr<ShmArena> arena_;
  std::vector<ExchangedMemory> posted_;               // by rank: of the exchange in place that runs
  std::uint32_t calls_ = 0;                           // of this rank so far
  std::uint32_t published_ = 0;                       // chunks, as in this rank's record
  std::vector<std::optional<ProcessWatch>> watches_;  // by rank; opened once the peer has joined
  int most_spins_;
  int spins_ = most_spins_;  // of the next wait: shm_wait.cpp
  int exceptions_at_start_;
  std::exception_ptr broken_;  // what an earlier call threw, or that this rank has left
  std::string broken_reason_;
  bool ended_ = false;
};

}  // namespace samegrad
