#include "samegrad/comm/c10d_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "samegrad/base/deadline.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/c10d_guard.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// A launcher's store is there before its workers are.
constexpr milliseconds kLongestConnect{60'000};
constexpr milliseconds kBetweenLooks{10};

/// PyTorch's errors bring their C++ stack with them.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

struct OwnedDescriptor {
  explicit OwnedDescriptor(int owned) : fd(owned) {}
  ~OwnedDescriptor() { close(fd); }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  int fd;
};

/// c10d opens the path for every call, also in the destructor: the descriptor must outlive that.
class OwnedFileStore final : private OwnedDescriptor, public c10d::FileStore {
 public:
  OwnedFileStore(int owned, int world_size) : OwnedDescriptor(owned), c10d::FileStore(path_of(owned), world_size) {}
};

}  // namespace

C10dStore::C10dStore(const c10::intrusive_ptr<c10d::Store>& store, const std::string& prefix,
                     bool goes_with_this_process)
    : store_(c10::make_intrusive<c10d::PrefixStore>(prefix, store)), goes_with_this_process_(goes_with_this_process) {}

void C10dStore::refuse_silent() const {
  if (silent_) throw RunError("launch", "rendezvous store: it does not answer");
}

// c10d waits for the answer without end: on a thread of its own, which is left behind where none comes.
std::optional<std::string> C10dStore::ask(const Question& question, milliseconds timeout) {
  refuse_silent();
  const C10dGuard guard;
  const auto answer = std::make_shared<std::promise<std::optional<std::string>>>();
  std::future<std::optional<std::string>> answered = answer->get_future();
  std::thread([answer, question, store = store_] {
    try {
      answer->set_value(question(*store));
    } catch (const std::exception& error) {
      answer->set_exception(std::make_exception_ptr(RunError("launch", "rendezvous store: " + first_line(error))));
    }
  }).detach();
  if (answered.wait_for(timeout) != std::future_status::ready) {
    silent_ = true;
    refuse_silent();
  }
  return answered.get();
}

std::string C10dStore::set_once(const std::string& key, const std::string& value, milliseconds timeout) {
  return *ask([key, value](c10d::Store& store) { return std::optional(store.compareSet(key, std::string(), value)); },
              timeout);
}

std::optional<std::string> C10dStore::look(const std::string& key, milliseconds timeout) {
  return ask(
      [key](c10d::Store& store) -> std::optional<std::string> {
        if (!store.check({key})) return std::nullopt;
        return store.get_to_str(key);
      },
      timeout);
}

void C10dStore::set(const std::string& key, const std::string& value) {
  refuse_silent();
  const C10dGuard guard;
  try {
    store_->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
  } catch (const std::exception& error) {
    throw RunError("launch", "rendezvous store: " + first_line(error));
  }
}

std::optional<std::string> C10dStore::get(const std::string& key, milliseconds timeout) {
  refuse_silent();
  const C10dGuard guard;
  try {
    // Looks again and again, because c10d's own wait prints a warning when it times out.
    const Deadline deadline(timeout);
    while (!store_->check({key})) {
      if (deadline.passed()) {
        return std::nullopt;
      }
      std::this_thread::sleep_for(std::min(kBetweenLooks, deadline.left()));
    }
    const std::vector<std::uint8_t> value = store_->get(key);
    return std::string(value.begin(), value.end());
  } catch (const std::exception& error) {
    throw RunError("launch", "rendezvous store: " + first_line(error));
  }
}

std::shared_ptr<C10dStore> open_launcher_store(const LauncherStore& place, int rank, milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.isServer = rank == 0 && !place.kept_by_launcher;
  options.waitWorkers = false;
  options.multiTenant = true;
  options.timeout = place.kept_by_launcher ? std::min(timeout, kLongestConnect) : timeout;
  const C10dGuard guard;
  try {
    const auto all =
        c10::make_intrusive<c10d::PrefixStore>(place.prefix, c10::make_intrusive<c10d::TCPStore>(place.host, options));
    // A rank may join again, where the launcher's ranks run one command after the other: every time has its own keys.
    const std::int64_t joins = all->add("joins/" + std::to_string(rank), 1);
    return std::make_shared<C10dStore>(all, std::to_string(joins), options.isServer);
  } catch (const std::exception& error) {
    throw RunError("launch", "the ranks cannot meet at MASTER_ADDR=" + place.host +
                                 ", MASTER_PORT=" + std::to_string(place.port) + ": " + first_line(error));
  }
}

std::shared_ptr<C10dStore> open_store_file(int fd, int world_size) {
  try {
    return std::make_shared<C10dStore>(c10::make_intrusive<c10d::FileStore>(path_of(fd), world_size), "samegrad");
  } catch (const std::exception& error) {
    throw InputError("launch", std::string(kStoreFileVariable) + "=" + std::to_string(fd) + ": " + first_line(error) +
                                   "; it must be the descriptor that the launcher of this run made");
  }
}

std::shared_ptr<C10dStore> open_store_file(StoreFile& file, int world_size) {
  try {
    return std::make_shared<C10dStore>(c10::make_intrusive<OwnedFileStore>(file.release_fd(), world_size), "samegrad");
  } catch (const std::exception& error) {
    throw RunError("launch", file.path() + ": the ranks cannot meet in this file: " + first_line(error));
  }
}

std::shared_ptr<void> host_store(int listening_fd) {
  sockaddr_in6 address{};
  socklen_t size = sizeof(address);
  int listens = 0;
  socklen_t listens_size = sizeof(listens);
  if (getsockopt(listening_fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0 || listens == 0 ||
      getsockname(listening_fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw InputError("launch", "descriptor " + std::to_string(listening_fd) + " is no socket that listens");
  }
  std::array<char, INET6_ADDRSTRLEN> host{};
  const auto* const four = reinterpret_cast<const sockaddr_in*>(&address);
  const bool is_four = address.sin6_family == AF_INET;
  inet_ntop(address.sin6_family, is_four ? static_cast<const void*>(&four->sin_addr) : &address.sin6_addr, host.data(),
            host.size());
  c10d::TCPStoreOptions options;
  options.port = ntohs(is_four ? four->sin_port : address.sin6_port);
  options.isServer = true;
  options.waitWorkers = false;
  options.masterListenFd = listening_fd;
  const C10dGuard guard;
  try {
    return std::make_shared<c10::intrusive_ptr<c10d::TCPStore>>(
        c10::make_intrusive<c10d::TCPStore>(host.data(), options));
  } catch (const std::exception& error) {
    throw RunError("launch", std::string("the store of the workers: ") + first_line(error));
  }
}

}  // namespace samegrad
