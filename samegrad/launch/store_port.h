// The port at which programs of torch.distributed find their store. The launcher only listens; the process that keeps
// the store is started when somebody comes, so a program that needs none costs nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "samegrad/launch/worker_process.h"
#include "samegrad/launch/worker_variables.h"

namespace samegrad {

/// What keeps the store: started with the listening descriptor's number as its last argument.
struct StoreKeeper {
  std::string program;                 ///< path; "": no store
  std::vector<std::string> arguments;  ///< without the number
  std::string host = "127.0.0.1";      ///< of this host; becomes MASTER_ADDR
  int port = 0;                        ///< 0: one that is free
};

class StorePort {
 public:
  /// Listens. Throws InputError where `host` is not this host's, or the port is taken. Local.
  explicit StorePort(const StoreKeeper& keeper);
  ~StorePort();
  StorePort(const StorePort&) = delete;
  StorePort& operator=(const StorePort&) = delete;

  const StoreAddress& address() const { return address_; }
  /// Can be read when somebody wants the store; -1 once its keeper runs.
  int fd() const { return fd_; }
  /// Starts the keeper. Throws RunError. Local.
  void start(const sigset_t& signal_mask);
  /// Ends the keeper. Local.
  void stop();
  /// The keeper's end, where it ended by itself; once. Local.
  std::optional<WorkerEnd> reap();

 private:
  StoreKeeper keeper_;
  StoreAddress address_;
  int fd_ = -1;
  std::optional<WorkerProcess> process_;
};

}  // namespace samegrad
