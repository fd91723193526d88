// PyTorch's stores as rendezvous store: the one of a launcher (TCPStore), and a file (FileStore).
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "samegrad/comm/environment.h"
#include "samegrad/comm/rendezvous_store.h"
#include "samegrad/comm/store_file.h"

namespace samegrad {

class C10dStore final : public RendezvousStore {
 public:
  /// Every key of this object begins with `prefix`. `goes_with_this_process`: no other process keeps the store.
  C10dStore(const c10::intrusive_ptr<c10d::Store>& store, const std::string& prefix,
            bool goes_with_this_process = false);

  /// Whether the others lose the store when this process ends: it should wait until they know why.
  bool goes_with_this_process() const { return goes_with_this_process_; }

  void set(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key, std::chrono::milliseconds timeout) override;

  /// Sets `key` where it is not set yet. Returns what it is set to: by the first rank that called this. Throws RunError
  /// where the store does not answer within `timeout`, as when its keeper is stopped: it is then not asked again.
  /// Local.
  std::string set_once(const std::string& key, const std::string& value, std::chrono::milliseconds timeout);

  /// The value of `key`; nothing where it is not set. Throws as set_once. Local.
  std::optional<std::string> look(const std::string& key, std::chrono::milliseconds timeout);

  /// What ProcessGroupGloo takes.
  const c10::intrusive_ptr<c10d::Store>& c10d() const { return store_; }

 private:
  using Question = std::function<std::optional<std::string>(c10d::Store& store)>;
  std::optional<std::string> ask(const Question& question, std::chrono::milliseconds timeout);
  void refuse_silent() const;

  c10::intrusive_ptr<c10d::Store> store_;
  bool goes_with_this_process_;
  bool silent_ = false;  // a call did not return in time
};

/// Connects to the store that a launcher keeps at `place`, or, where none does, lets rank 0 keep it, as
/// torch.distributed's env:// does. All ranks must open it equally often: keys of an earlier time are not seen. Throws
/// RunError naming the address where it is not reached within `timeout`. Local.
std::shared_ptr<C10dStore> open_launcher_store(const LauncherStore& place, int rank, std::chrono::milliseconds timeout);

/// The store in the file behind descriptor `fd`, which stays open, of `world_size` processes of this host. Throws
/// InputError where it is no such file. Local.
std::shared_ptr<C10dStore> open_store_file(int fd, int world_size);
/// The same in a named file, which the store keeps open; its name may go. Throws RunError. Local.
std::shared_ptr<C10dStore> open_store_file(StoreFile& file, int world_size);

/// Keeps a TCPStore on the listening socket `listening_fd`, as torchrun's agent does, while the result lives. Throws
/// InputError where it is no such socket. Local.
std::shared_ptr<void> host_store(int listening_fd);

}  // namespace samegrad
