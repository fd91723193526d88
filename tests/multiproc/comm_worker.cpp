// The worker of the tests of comm and launch: `comm_worker MODE WORLD_SIZE [ARGUMENT]`, started by launch_workers().
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/dual_exchange.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/native_all_reduce.h"
#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/launch.h"
#include "samegrad/launch/worker_signals.h"
#include "tests/multiproc/worker_communicator.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::int64_t kUpdate = 7;

struct Arguments {
  int world_size = 0;
  std::string argument;
};

void require(bool holds, const std::string& what) {
  if (!holds) {
    throw CheckError("comm_worker", what);
  }
}

/// What rank `from` sends to rank `to` in `round` at `offset`.
std::byte content(std::int64_t round, int from, int to, std::size_t offset) {
  return static_cast<std::byte>((offset * 7 + offset / 251 + static_cast<std::size_t>(from * 31 + to * 17 + round)) %
                                256);
}

std::vector<std::byte> block(std::int64_t round, int from, int to, std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    values[i] = content(round, from, to, i);
  }
  return values;
}

using Bytes = std::vector<std::byte>;

Bytes joined(const std::vector<Bytes>& blocks) {
  Bytes all;
  for (const Bytes& one : blocks) {
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// A copy that begins at an odd address.
class Unaligned {
 public:
  explicit Unaligned(const Bytes& values) : bytes_(values.size() + 1) {
    std::copy(values.begin(), values.end(), bytes_.begin() + 1);
  }
  std::span<std::byte> span() { return std::span(bytes_).subspan(1); }

 private:
  Bytes bytes_;
};

bool equal(std::span<const std::byte> a, const Bytes& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

enum Operation { kAllToAll, kAllGather, kBroadcast, kBarrier, kOperations };

Bytes blocks(int ranks, const std::function<Bytes(int peer)>& of_peer) {
  std::vector<Bytes> all;
  for (int peer = 0; peer < ranks; ++peer) {
    all.push_back(of_peer(peer));
  }
  return joined(all);
}

void one_round(Communicator& comm, std::int64_t round, Operation operation, std::size_t bytes) {
  const CallLabel label{"round", round, minutes(10)};
  const int me = comm.rank();
  const std::string what = "round " + std::to_string(round) + " of " + std::to_string(bytes) + " bytes differs";
  if (operation == kAllToAll) {
    Unaligned received(Bytes(bytes * static_cast<std::size_t>(comm.size())));
    Unaligned sent(blocks(comm.size(), [&](int peer) { return block(round, me, peer, bytes); }));
    comm.all_to_all(sent.span(), received.span(), label);
    const Bytes expected = blocks(comm.size(), [&](int peer) { return block(round, peer, me, bytes); });
    require(equal(received.span(), expected), "all_to_all: " + what);
  } else if (operation == kAllGather) {
    Unaligned received(Bytes(bytes * static_cast<std::size_t>(comm.size())));
    Unaligned sent(block(round, me, 0, bytes));
    comm.all_gather(sent.span(), received.span(), label);
    const Bytes expected = blocks(comm.size(), [&](int peer) { return block(round, peer, 0, bytes); });
    require(equal(received.span(), expected), "all_gather: " + what);
  } else if (operation == kBroadcast) {
    const int root = static_cast<int>(round) % comm.size();
    Unaligned data(block(round, me, 0, bytes));
    comm.broadcast(data.span(), root, label);
    require(equal(data.span(), block(round, root, 0, bytes)), "broadcast: " + what);
  } else {
    comm.barrier(label);
  }
}

void collectives(Communicator& comm, const Arguments&) {
  std::int64_t round = 0;
  // An odd size above a rank's part of an outbox slot (1 MiB, shared by the blocks of an all_to_all), and one above it.
  for (const std::size_t bytes : {0U, 1U, 65U, 150'001U, 1'048'577U}) {
    for (const Operation operation : {kAllToAll, kAllGather, kBroadcast, kBarrier}) {
      if (operation != kAllToAll || bytes < 1'000'000 || comm.size() <= 2) {
        one_round(comm, ++round, operation, bytes);
      }
    }
  }
  dual_exchange_check(comm, {"dual", 0, minutes(10)});
}

/// Values whose sums are exact in any order.
template <typename Element>
void native_sum_of(NativeAllReduce& native, int rank, int world_size) {
  std::vector<Element> values(70'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Element>(i % 1000) * Element(rank + 1);
  native.all_reduce_sum(std::span(values), {"native sum", kUpdate, minutes(10)});
  const auto ranks = static_cast<Element>(world_size * (world_size + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(values[i] == static_cast<Element>(i % 1000) * ranks,
            "element " + std::to_string(i) + " of the sum differs");
  }
}

void native_sum(Communicator& comm, const Arguments&) {
  auto* const native = dynamic_cast<NativeAllReduce*>(&comm);
  require((native != nullptr) == (comm.backend() == "gloo"), "only gloo has an all-reduce of its own");
  if (native == nullptr) return;
  native_sum_of<float>(*native, comm.rank(), comm.size());
  native_sum_of<double>(*native, comm.rank(), comm.size());
  one_round(comm, 1, kAllToAll, 100);  // calls go on after it
}

void random_rounds(Communicator& comm, const Arguments& arguments) {
  std::mt19937 random(11);  // the same on all ranks
  for (std::int64_t round = 1; round <= std::stoi(arguments.argument); ++round) {
    const auto operation = static_cast<Operation>(random() % kOperations);
    one_round(comm, round, operation, random() % 100 == 0 ? random() % 1'500'000 : random() % 2'000);
  }
}

/// Rank 0 writes the digest of a reduced gradient, whose atoms do not depend on the number of ranks.
void reduction(Communicator& comm, const Arguments& arguments) {
  constexpr std::int64_t kAtoms = 12;
  std::vector<std::vector<float>> atoms(kAtoms, std::vector<float>(10'001));
  std::mt19937 random(12);
  for (std::vector<float>& atom : atoms) {
    for (float& value : atom) {
      value = std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())), -40);
    }
  }
  const auto ranges = rank_ranges(kAtoms, comm.size());
  std::function<std::vector<float>(AtomRange)> sum = [&](AtomRange node) {
    if (node.size() == 1) {
      return atoms[static_cast<std::size_t>(node.begin)];
    }
    const std::int64_t middle = node.begin + tree_split(node.size());
    std::vector<float> left = sum({node.begin, middle});
    const std::vector<float> right = sum({middle, node.end});
    for (std::size_t k = 0; k < left.size(); ++k) {
      left[k] += right[k];
    }
    return left;
  };
  std::vector<std::vector<float>> sums;
  std::vector<SubtreeGradient<float>> mine;
  const AtomRange range = ranges[static_cast<std::size_t>(comm.rank())];
  for (const AtomRange& node : range.size() > 0 ? maximal_subtrees(kAtoms, range) : std::vector<AtomRange>{}) {
    sums.push_back(sum(node));
    mine.push_back({node, sums.back().data()});
  }
  std::vector<float> result(atoms.front().size());
  reduce_canonically(comm, ranges, mine, result, 48.0, {"gradient", 1, minutes(10)});
  if (comm.rank() == 0) {
    const auto bytes = std::as_bytes(std::span(result));
    std::ofstream(arguments.argument) << xxh3_128_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

/// All go through the updates; rank 1 meets its fate before the gradient of update 7.
void fate(Communicator& comm, milliseconds timeout, const std::function<void()>& of_rank_1) {
  for (std::int64_t update = 1; update <= kUpdate; ++update) {
    comm.barrier({"agreement", update, timeout});
    if (update == kUpdate && comm.rank() == 1) {
      of_rank_1();
    }
    std::vector<std::byte> send(4'096 * static_cast<std::size_t>(comm.size()));
    std::vector<std::byte> recv(send.size());
    comm.all_to_all(send, recv, {"gradient", update, timeout});
  }
}

void killed(Communicator& comm, const Arguments&) {
  fate(comm, minutes(10), [] { raise(SIGKILL); });
}

void stopped(Communicator& comm, const Arguments&) {
  fate(comm, milliseconds(500), [] { raise(SIGSTOP); });
}

[[noreturn]] void wait_for_ever() {
  for (;;) {
    pause();
  }
}

void late(Communicator& comm, const Arguments&) { fate(comm, milliseconds(500), wait_for_ever); }

void throws(Communicator& comm, const Arguments&) {
  fate(comm, minutes(10), [] { throw RunError("train", "loss is not finite"); });
}

void leaves_in_order(Communicator& comm, const Arguments&) {
  for (std::int64_t update = 1; update <= (comm.rank() == 1 ? 2 : 3); ++update) {
    comm.barrier({"agreement", update, minutes(10)});
  }
}

/// A rank that has failed goes on calling.
void calls_after_leaving(Communicator& comm, const Arguments&) {
  comm.barrier({"agreement", kUpdate, minutes(10)});
  if (comm.rank() != 1) return;
  comm.leave("[train] loss is not finite");
  comm.barrier({"gradient", kUpdate, minutes(10)});
}

void exits(Communicator& comm, const Arguments& arguments) {
  fate(comm, minutes(10), [&] { _exit(std::stoi(arguments.argument)); });
}

void mismatched(Communicator& comm, const Arguments&) {
  std::vector<std::byte> part(128);
  std::vector<std::byte> all(part.size() * static_cast<std::size_t>(comm.size()));
  if (comm.rank() == comm.size() - 1) {
    comm.barrier({"end", kUpdate, minutes(10)});
  } else {
    comm.all_gather(part, all, {"agreement", kUpdate, minutes(10)});
  }
}

void different_sizes(Communicator& comm, const Arguments&) {
  std::vector<std::byte> part(comm.rank() == comm.size() - 1 ? 64 : 128);
  std::vector<std::byte> all(part.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(part, all, {"agreement", kUpdate, minutes(10)});
}

void fails_agreed(Communicator& comm, const Arguments&) {
  agree_no_failure(comm, comm.rank() == 1 ? "[data] train.jsonl:7: not JSON" : "", 2, {"data", 0, minutes(10)});
}

/// Rank 0 has the launcher stopped once all can be; each leaves as a run does after its checkpoint.
void stops_when_asked(Communicator& comm, const Arguments& arguments) {
  install_stop_signals();
  comm.barrier({"ready", 0, minutes(10)});
  if (comm.rank() == 0) {
    kill(getppid(), std::stoi(arguments.argument));
  }
  while (stop_signal() == 0) {
    usleep(1'000);
  }
  comm.barrier({"checkpoint", 0, minutes(10)});
  _exit(128 + stop_signal());
}

void ignores_the_wish_to_stop(Communicator& comm, const Arguments&) {
  signal(SIGTERM, SIG_IGN);
  comm.barrier({"ready", 0, minutes(10)});
  while (comm.rank() == 0) {  // until the launcher takes it as a second request
    kill(getppid(), SIGTERM);
    usleep(20'000);
  }
  wait_for_ever();
}

void ignores_terminate_after_a_failure(Communicator& comm, const Arguments&) {
  signal(SIGTERM, SIG_IGN);
  comm.barrier({"ready", 0, minutes(10)});
  if (comm.rank() == 1) {
    throw RunError("train", "loss is not finite");
  }
  wait_for_ever();
}

void shows_environment(Communicator& comm, const Arguments& arguments) {
  std::ofstream file(arguments.argument + "/" + std::to_string(comm.rank()));
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS", "ADDED"}) {
    file << name << "=" << process_environment(name).value_or("(unset)") << "\n";
  }
  file << "group=" << (getpgrp() == getpid() ? "own" : "shared") << "\n";
}

/// Rank 0 writes all pids, then kills the launcher; all wait for the kernel to end them.
void orphans(Communicator& comm, const Arguments& arguments) {
  const DualExchange exchange = dual_exchange_check(comm, {"dual", 0, minutes(10)});
  if (comm.rank() == 0) {
    std::ofstream file(arguments.argument);
    for (const std::int64_t pid : exchange.pids) {
      file << pid << "\n";
    }
    file.close();
    kill(getppid(), SIGKILL);
  }
  wait_for_ever();
}

/// A launcher of its own.
void launcher(Communicator&, const Arguments& arguments) {
  LaunchOptions options;
  options.program = "/proc/self/exe";
  options.arguments = {"orphans", "3", arguments.argument};
  options.processes = 3;
  launch_workers(options);
}

using Mode = void (*)(Communicator&, const Arguments&);
const std::map<std::string, Mode> kModes{
    {"collectives", collectives},
    {"native-sum", native_sum},
    {"random-rounds", random_rounds},
    {"reduction", reduction},
    {"killed", killed},
    {"stopped", stopped},
    {"late", late},
    {"throws", throws},
    {"leaves-in-order", leaves_in_order},
    {"calls-after-leaving", calls_after_leaving},
    {"exits", exits},
    {"mismatched", mismatched},
    {"different-sizes", different_sizes},
    {"fails-agreed", fails_agreed},
    {"stops-when-asked", stops_when_asked},
    {"ignores-the-wish-to-stop", ignores_the_wish_to_stop},
    {"ignores-terminate-after-a-failure", ignores_terminate_after_a_failure},
    {"shows-environment", shows_environment},
    {"orphans", orphans},
    {"launcher", launcher},
};

int run(const std::string& mode, const Arguments& arguments) {
  int rank = 0;
  try {
    const WorkerEnvironment environment = read_worker_environment();
    rank = environment.rank;
    const auto comm = worker_communicator(environment);
    require(comm->size() == arguments.world_size, "world size " + std::to_string(comm->size()));
    try {
      kModes.at(mode)(*comm, arguments);
    } catch (const std::exception& error) {
      comm->leave(error.what());
      throw;
    }
    return 0;
  } catch (const std::exception& error) {
    const FailureReport report = failure_report_of(error, rank);
    write_failure_report(report);
    return report.exit_code;
  }
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  return samegrad::run(argv[1], {std::stoi(argv[2]), argc > 3 ? argv[3] : ""});
}
