// Who a rank is and where it runs, as ranks tell each other before they can talk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace samegrad {

/// A network address of this host, and the other end for which it was chosen; both as numbers.
struct NetworkRoute {
  std::string own;
  std::string other;
};

struct RankFacts {
  /// Equal for ranks that can share memory: one kernel that was booted once, the same network, IPC, mount and pid
  /// namespaces, the same user.
  std::string host;
  std::string host_name;         ///< for messages
  int pid = 0;                   ///< in the pid namespace of its host
  std::uint64_t start_time = 0;  ///< of the process (comm/process_watch.h)
  NetworkRoute route;            ///< to the store where the ranks meet; empty where that is a file
  int status_fd = -1;            ///< through which its host reads its status record; -1: none

  bool operator==(const RankFacts& other) const;
};

/// The facts of this process, without a route. Throws RunError where /proc does not tell. Local.
RankFacts facts_of_this_process();

/// The interface through which this host reaches `host`:`port`; nothing is sent. Throws RunError where the name has no
/// address or nothing leads there. Local.
NetworkRoute route_to(const std::string& host, int port);

/// One line of JSON, and back. The second throws RunError where `text` is none. Local.
std::string rank_facts_to_line(const RankFacts& facts);
RankFacts rank_facts_from_line(std::string_view text);

/// Whether all ranks run on one host. Local.
bool on_one_host(std::span<const RankFacts> ranks);

/// The number of different hosts. Local.
int count_hosts(std::span<const RankFacts> ranks);

/// The address at which `rank` can be reached by all: loopback on one host; else its own end of its route; where that
/// is loopback (the store is on its host), the address at which a rank of another host reaches the store. Throws
/// RunError where there is none. Local.
std::string reachable_address(std::span<const RankFacts> ranks, int rank);

}  // namespace samegrad
