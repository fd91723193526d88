// The ranks of a run as a program holds them: who this process is, and how it talks to the others.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "samegrad/comm/communicator.h"

namespace samegrad {

/// Copies are cheap and are all the same world. Not for use by several threads at once.
class World {
 public:
  /// `timeout` bounds each wait for another rank. Local.
  explicit World(std::shared_ptr<Communicator> communicator,
                 std::chrono::milliseconds timeout = std::chrono::seconds(1800));

  /// Over a communicator that the caller keeps alive for as long as any copy. Local.
  explicit World(Communicator& communicator, std::chrono::milliseconds timeout = std::chrono::seconds(1800));

  // No moves: a world that was moved from would be none.
  World(const World&) = default;
  World& operator=(const World&) = default;

  /// This process, 0..size()-1. Local.
  int rank() const { return communicator_->rank(); }
  /// Number of processes. Local.
  int size() const { return communicator_->size(); }
  /// How ranks talk: "single", "shm", "gloo". Local.
  std::string_view backend() const { return communicator_->backend(); }
  std::chrono::milliseconds timeout() const { return timeout_; }
  /// The same world with another bound for each wait. Local.
  World with_timeout(std::chrono::milliseconds timeout) const { return World(communicator_, timeout); }
  Communicator& communicator() const { return *communicator_; }

  /// Whether any rank says true: the condition of a loop that all ranks must leave together. Throws PeerError naming a
  /// rank that is dead or late. Collective.
  bool any(bool mine) const;
  /// Returns when every rank has called it. Errors as any(). Collective.
  void barrier() const;

 private:
  std::shared_ptr<Communicator> communicator_;
  std::chrono::milliseconds timeout_;
};

}  // namespace samegrad
