#include "samegrad/comm/init.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/comm/aten_dispatch.h"
#include "samegrad/comm/aten_pins.h"
#include "samegrad/comm/dispatch.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/join.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "init";
constexpr std::string_view kRendezvousForms = "allowed are tcp://HOST:PORT, HOST:PORT, or, on one host, file:///PATH";

[[noreturn]] void refuse(const std::string& message) { throw InputError(kStage, message); }

void take_rendezvous(const std::string& text, WorkerEnvironment& place) {
  constexpr std::string_view kTcp = "tcp://";
  constexpr std::string_view kFile = "file://";
  if (text.starts_with(kFile) && text.size() > kFile.size() + 1 && text[kFile.size()] == '/') {
    place.store_file = text.substr(kFile.size());
    return;
  }
  const std::string address = text.starts_with(kTcp) ? text.substr(kTcp.size()) : text;
  const std::size_t colon = address.rfind(':');
  int port = 0;
  if (colon != std::string::npos) {
    const char* const last = address.data() + address.size();
    const auto [end, error] = std::from_chars(address.data() + colon + 1, last, port);
    port = error == std::errc{} && end == last ? port : 0;
  }
  std::string host = address.substr(0, std::min(colon, address.size()));
  if (host.starts_with('[') && host.ends_with(']')) {  // an IPv6 address
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty() || host.find('/') != std::string::npos || port < 1 || port > 65'535) {
    refuse("rendezvous: '" + text + "'; " + std::string(kRendezvousForms));
  }
  place.store = LauncherStore{host, port, /*kept_by_launcher=*/false, "samegrad/explicit"};
}

WorkerEnvironment explicit_place(const InitOptions& options) {
  if (!options.rank || !options.world_size) {
    refuse(std::string(options.rank         ? "rank without world_size"
                       : options.world_size ? "world_size without rank"
                                            : "rendezvous without rank and world_size") +
           ": give all three, or none to take the launcher's");
  }
  const int rank = *options.rank;
  const int size = *options.world_size;
  if (size < 1 || size > kMostLocalProcesses || rank < 0 || rank >= size) {
    refuse("rank: " + std::to_string(rank) + " with world_size: " + std::to_string(size) +
           "; allowed are ranks 0 to world_size - 1, and 1 to " + std::to_string(kMostLocalProcesses) + " of them");
  }
  WorkerEnvironment place{.rank = rank, .world_size = size, .local_rank = rank, .local_world_size = size};
  place.launcher = "by rendezvous";
  if (size > 1 || !options.rendezvous.empty()) {
    take_rendezvous(options.rendezvous, place);
  }
  return place;
}

WorkerEnvironment place_of(const InitOptions& options) {
  const bool is_explicit = options.rank || options.world_size || !options.rendezvous.empty();
  WorkerEnvironment place = is_explicit ? explicit_place(options) : read_worker_environment();
  static std::atomic<bool> inherited_used{false};
  if (place.shared_memory_fd >= 0 && inherited_used.exchange(true)) {
    refuse(
        "called a second time, but a launcher's shared memory can be joined once: keep the World of the first call; "
        "its copies are the same world");
  }
  return place;
}

void check_backend(const std::string& backend) {
  constexpr std::array<std::string_view, 3> kBackends{"auto", "shm", "gloo"};
  if (std::ranges::find(kBackends, backend) == kBackends.end()) {
    refuse("backend: '" + backend + "' is not built; allowed are auto, shm and gloo");
  }
}

void warn_where_bits_are_not_promised(const World& world, const UnpinnedFacts& mine) {
  std::vector<UnpinnedFacts> all(static_cast<std::size_t>(world.size()));
  world.communicator().all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                                  {"pins", 0, world.timeout()});
  const std::string difference = unequal_dispatch(world.communicator(), effective_dispatch(), world.timeout());
  if (world.rank() != 0) {
    return;
  }
  std::string text;
  for (std::size_t fact = 0; fact < kUnpinnedFacts; ++fact) {
    const auto found = std::ranges::find_if(all, [&](const UnpinnedFacts& facts) { return facts[fact]; });
    if (found != all.end()) {
      text +=
          (text.empty() ? " " : "; ") + ("rank " + std::to_string(found - all.begin())) + ": " + unpinned_text(fact);
    }
  }
  if (!difference.empty()) {
    text += (text.empty() ? " " : "; ") + difference +
            ": start all ranks with the same variables, libraries and kind of " + "processor";
  }
  if (!text.empty()) {
    log_warn("[init] the same bits for every number of processes are not promised:" + text);
  }
}

}  // namespace

World init(const InitOptions& options) {
  check_backend(options.backend);
  const UnpinnedFacts unpinned = pin_this_process();
  JoinedRanks joined = join_ranks(place_of(options), options.backend, options.timeout, "InitOptions::backend");
  World world(std::move(joined.communicator), options.timeout);
  if (world.rank() == 0 && !joined.note.empty()) {
    log_info(joined.note);
  }
  warn_where_bits_are_not_promised(world, unpinned);
  return world;
}

}  // namespace samegrad
