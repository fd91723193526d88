#include "samegrad/launch/store_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

[[noreturn]] void refuse(const StoreKeeper& keeper, const std::string& why) {
  throw InputError("launch", "the store at " + keeper.host + ":" + std::to_string(keeper.port) + ": " + why +
                                 "; leave --master-addr and --master-port out, and a free port of this host is taken");
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const StoreKeeper& keeper) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(keeper.host.c_str(), std::to_string(keeper.port).c_str(), &hints, &found);
  if (error != 0) {
    refuse(keeper, gai_strerror(error));
  }
  return {found, &freeaddrinfo};
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

StorePort::StorePort(const StoreKeeper& keeper) : keeper_(keeper) {
  const Addresses addresses = addresses_of(keeper);
  const int on = 1;
  fd_ = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd_, addresses->ai_addr, addresses->ai_addrlen) != 0 || listen(fd_, SOMAXCONN) != 0) {
    const std::string reason = std::strerror(errno);
    if (fd_ >= 0) {
      close(fd_);
    }
    refuse(keeper, reason);
  }
  address_ = {keeper.host, port_of(fd_)};
}

StorePort::~StorePort() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

void StorePort::start(const sigset_t& signal_mask) {
  WorkerProgram program;
  program.path = keeper_.program;
  program.arguments = keeper_.arguments;
  program.arguments.push_back(std::to_string(fd_));
  program.inherited_fds = {fd_};
  program.signal_mask = signal_mask;
  process_.emplace(program);
  close(std::exchange(fd_, -1));
}

void StorePort::stop() { process_.reset(); }

std::optional<WorkerEnd> StorePort::reap() { return process_ ? process_->reap() : std::nullopt; }

}  // namespace samegrad
