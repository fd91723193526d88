// The modes of the worker that move data: every operation, every element checked.
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <list>
#include <random>
#include <span>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/dual_exchange.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/native_all_reduce.h"
#include "samegrad/comm/status_image.h"
#include "tests/multiproc/comm_worker_mode.h"

namespace samegrad {
namespace {

using std::chrono::minutes;

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

/// Rank 0 writes the digest of a reduced gradient, whose atoms do not depend on the number of ranks. `hold` puts values
/// where the exchange shall find them.
void reduction_of(Communicator& comm, const Arguments& arguments,
                  const std::function<std::span<float>(const std::vector<float>&)>& hold) {
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
  std::vector<SubtreeGradient<float>> mine;
  const AtomRange range = ranges[static_cast<std::size_t>(comm.rank())];
  for (const AtomRange& node : range.size() > 0 ? maximal_subtrees(kAtoms, range) : std::vector<AtomRange>{}) {
    mine.push_back({node, hold(sum(node)).data()});
  }
  const std::span<float> result = hold(std::vector<float>(atoms.front().size()));
  reduce_canonically(comm, ranges, mine, result, 48.0, {"gradient", 1, minutes(10)});
  if (comm.rank() == 0) {
    const auto bytes = std::as_bytes(std::span(result));
    std::ofstream(arguments.argument) << xxh3_128_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

void reduction(Communicator& comm, const Arguments& arguments) {
  std::list<std::vector<float>> held;
  reduction_of(comm, arguments,
               [&](const std::vector<float>& values) { return std::span<float>(held.emplace_back(values)); });
}

/// In memory that ranks share, so in one call.
void reduction_in_place(Communicator& comm, const Arguments& arguments) {
  const std::shared_ptr<GradientMemory> memory = gradient_memory_of(comm);
  require(memory != nullptr, "ranks share memory for gradients");
  std::vector<std::shared_ptr<std::byte>> held;
  static StatusImage image;  // it must outlive the communicator
  dynamic_cast<KeepsStatus&>(comm).status().place_in_memory(image);
  const auto calls = [&] { return read_status_image(image, comm.rank()).status.value().collectives; };
  const std::int64_t before = calls();
  reduction_of(comm, arguments, [&](const std::vector<float>& values) {
    held.push_back(memory->allocate(values.size() * sizeof(float)));
    std::memcpy(held.back().get(), values.data(), values.size() * sizeof(float));
    return std::span(reinterpret_cast<float*>(held.back().get()), values.size());
  });
  require(calls() == before + 1, "the reduction is one call");
}

/// Rank 1 is killed while all work in one another's memory, which the others can read and write afterwards.
void killed_in_exchange(Communicator& comm, const Arguments&) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::shared_ptr<std::byte> memory = gradient_memory_of(comm)->allocate(kBytes);
  std::vector<ExchangedMemory> seen;
  try {
    dynamic_cast<SharesGradientMemory&>(comm).exchange_in_place({{memory.get()}, memory.get()}, kBytes,
                                                                [&](std::span<const ExchangedMemory> all) {
                                                                  seen.assign(all.begin(), all.end());
                                                                  if (comm.rank() == 1) raise(SIGKILL);
                                                                },
                                                                {"gradient", kUpdate, minutes(10)});
  } catch (const std::exception&) {
    for (const ExchangedMemory& of_rank : seen) std::memset(of_rank.result, comm.rank(), kBytes);
    throw;
  }
}

}  // namespace

const std::map<std::string, Mode>& exchange_modes() {
  static const std::map<std::string, Mode> modes{{"collectives", collectives},
                                                 {"native-sum", native_sum},
                                                 {"random-rounds", random_rounds},
                                                 {"reduction", reduction},
                                                 {"reduction-in-place", reduction_in_place},
                                                 {"killed-in-exchange", killed_in_exchange}};
  return modes;
}

}  // namespace samegrad
