#include "samegrad/comm/rank_facts.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <system_error>

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/comm/process_watch.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "launch";
constexpr const char* kLoopback = "127.0.0.1";

std::string namespace_of_this_process(const char* kind) {
  std::error_code error;
  const std::filesystem::path link = std::string("/proc/self/ns/") + kind;
  const std::filesystem::path target = std::filesystem::read_symlink(link, error);
  if (error) {
    throw RunError(kStage, link.string() + ": " + error.message() + "; it tells which ranks share a host");
  }
  return target.string();
}

std::string boot_id() {
  std::string id;
  if (!std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id)) {
    throw RunError(kStage, "/proc/sys/kernel/random/boot_id cannot be read; it tells which ranks share a host");
  }
  return id;
}

std::string number_text(const sockaddr* address, socklen_t bytes) {
  std::array<char, NI_MAXHOST> text{};
  const int error = getnameinfo(address, bytes, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

/// The own end of a datagram socket to `target`, which sends nothing; "" and errno where nothing leads there.
std::string own_end_towards(const addrinfo& target) {
  const int fd = socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return "";
  }
  sockaddr_storage own{};
  socklen_t bytes = sizeof(own);
  auto* const plain = reinterpret_cast<sockaddr*>(&own);
  const bool known = connect(fd, target.ai_addr, target.ai_addrlen) == 0 && getsockname(fd, plain, &bytes) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  return known ? number_text(plain, bytes) : "";
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

}  // namespace

bool RankFacts::operator==(const RankFacts& other) const {
  return host == other.host && pid == other.pid && start_time == other.start_time;
}

RankFacts facts_of_this_process() {
  RankFacts facts;
  facts.host = boot_id();
  for (const char* kind : {"net", "ipc", "mnt", "pid"}) {
    facts.host += " " + namespace_of_this_process(kind);
  }
  facts.host += " uid:" + std::to_string(geteuid());
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  facts.host_name = name.data();
  facts.pid = getpid();
  facts.start_time = process_start_time(facts.pid);
  return facts;
}

NetworkRoute route_to(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  const std::string what = "MASTER_ADDR=" + host + ": ";
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &raw); error != 0) {
    throw RunError(kStage, what + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, freeaddrinfo);
  for (const addrinfo* target = raw; target != nullptr; target = target->ai_next) {
    if (std::string own = own_end_towards(*target); !own.empty()) {
      return {std::move(own), number_text(target->ai_addr, target->ai_addrlen)};
    }
  }
  throw RunError(kStage, what + "no network interface leads there: " + std::strerror(errno));
}

std::string rank_facts_to_line(const RankFacts& facts) {
  const Json json{{"host", facts.host},
                  {"host_name", facts.host_name},
                  {"pid", facts.pid},
                  {"start_time", facts.start_time},
                  {"address", facts.route.own},
                  {"store_address", facts.route.other},
                  {"status_fd", facts.status_fd}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RankFacts rank_facts_from_line(std::string_view text) {
  try {
    const Json json = parse_untrusted_json(text);
    return {json.at("host").get<std::string>(),
            json.at("host_name").get<std::string>(),
            static_cast<int>(whole_number(json.at("pid"), 0, INT32_MAX)),
            json.at("start_time").get<std::uint64_t>(),
            {json.at("address").get<std::string>(), json.at("store_address").get<std::string>()},
            json.at("status_fd").get<int>()};
  } catch (const Json::exception&) {
    throw RunError(kStage, "a rank says of itself '" + std::string(text) +
                               "', which this version of samegrad does not understand; all ranks must run the same");
  }
}

bool on_one_host(std::span<const RankFacts> ranks) { return count_hosts(ranks) == 1; }

int count_hosts(std::span<const RankFacts> ranks) {
  std::set<std::string_view> hosts;
  for (const RankFacts& facts : ranks) {
    hosts.insert(facts.host);
  }
  return static_cast<int>(hosts.size());
}

std::string reachable_address(std::span<const RankFacts> ranks, int rank) {
  const RankFacts& mine = ranks[static_cast<std::size_t>(rank)];
  if (on_one_host(ranks)) {
    return kLoopback;
  }
  if (!is_loopback(mine.route.own)) {
    return mine.route.own;
  }
  for (const RankFacts& other : ranks) {
    if (other.host != mine.host && !is_loopback(other.route.other)) {
      return other.route.other;
    }
  }
  throw RunError(kStage, "rank " + std::to_string(rank) + " on " + mine.host_name + " can be reached at " +
                             mine.route.own + " only, but ranks run on " + std::to_string(count_hosts(ranks)) +
                             " hosts; give the launcher an address of the network between them");
}

}  // namespace samegrad
