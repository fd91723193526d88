// `exchange_speed RANKS ROUNDS LARGEST_BYTES SIDES FILE`: seconds of a sum over RANKS processes of this host, of 4 KiB
// to LARGEST_BYTES, by each of SIDES (comma-separated), which take turns in the same processes. Rank 0 writes FILE:
// JSON. benchmarks/exchange_speed.py runs it and makes the table.
//
// shm: reduce_canonically on gradients in the memory that ranks share, as a window's are; shm-messages: the same on
// other memory, which goes in messages; gloo: PyTorch's all-reduce; openmpi: MPI_Allreduce (mpirun then starts the
// processes, over its shared memory); copy: one memcpy of as many bytes by all ranks at once, the limit.
//
// A buffer is rewritten before each exchange; a batch's seconds are those of the exchanges alone, of the slowest rank.
#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/c10d_reducer.h"
#include "benchmarks/mpi_sum.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/shm_communicator.h"

namespace samegrad {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSmallestBytes = 4'096;
constexpr std::int64_t kLessonBytes = 282'628 * 4;
constexpr std::int64_t kBatchBytes = std::int64_t{32} << 20;
constexpr std::int64_t kMostInABatch = 100;

CallLabel label(std::string_view name) { return {name, 1, std::chrono::minutes(5)}; }

/// What rank `rank` brings to exchange `iteration`: small whole numbers, so that every order gives the same sum.
void rewrite(std::span<float> values, int rank, std::int64_t iteration) {
  const auto first = static_cast<std::int32_t>(rank * 7 + iteration % 11);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(first + static_cast<std::int32_t>(i & 1023));
  }
}

/// One memory of as many floats as the largest exchange has, and how they are summed.
struct Side {
  std::string name;
  std::shared_ptr<void> memory;
  std::function<void(std::span<float> values)> sum;
};

class Sides {
 public:
  Sides(ShmCommunicator& comm, const std::string& names, std::int64_t largest_bytes, const std::string& store)
      : comm_(comm) {
    own_.reset(std::aligned_alloc(64, static_cast<std::size_t>(largest_bytes)), std::free);
    for (int rank = 0; rank < comm.size(); ++rank) ranges_.push_back({rank, rank + 1});
    std::istringstream list(names);
    for (std::string name; std::getline(list, name, ',');) sides_.push_back(side(name, largest_bytes, store));
  }

  const std::vector<Side>& all() const { return sides_; }

 private:
  Side side(const std::string& name, std::int64_t largest_bytes, const std::string& store) {
    const auto canonical = [this](std::span<float> values) {
      const std::array<SubtreeGradient<float>, 1> mine{
          {{ranges_[static_cast<std::size_t>(comm_.rank())], values.data()}}};
      reduce_canonically(comm_, ranges_, mine, values, 1.0, label("gradient"));
    };
    if (name == "shm")
      return {name, comm_.gradient_memory()->allocate(static_cast<std::size_t>(largest_bytes)), canonical};
    if (name == "shm-messages") return {name, own_, canonical};
    if (name == "gloo") {
      gloo_ = std::make_unique<C10dGroup>(store, comm_.rank(), comm_.size());
      return {name, own_, [this](std::span<float> values) {
                gloo_->all_reduce_sum(at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}));
              }};
    }
    if (name == "openmpi") {
      mpi_ = std::make_unique<MpiSum>();
      return {name, own_, [this](std::span<float> values) { mpi_->run(values); }};
    }
    if (name == "copy") {
      target_.reset(std::aligned_alloc(64, static_cast<std::size_t>(largest_bytes)), std::free);
      std::memset(target_.get(), 0, static_cast<std::size_t>(largest_bytes));
      return {name, own_,
              [this](std::span<float> values) { std::memcpy(target_.get(), values.data(), values.size_bytes()); }};
    }
    throw InputError("benchmark", "side '" + name + "': allowed are shm, shm-messages, gloo, openmpi, copy");
  }

  ShmCommunicator& comm_;
  std::vector<AtomRange> ranges_;
  std::shared_ptr<void> own_;
  std::shared_ptr<void> target_;
  std::unique_ptr<C10dGroup> gloo_;
  std::unique_ptr<MpiSum> mpi_;
  std::vector<Side> sides_;
};

double slowest(Communicator& comm, double mine) {
  std::vector<double> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), label("seconds"));
  return *std::ranges::max_element(all);
}

/// Seconds of one exchange, on average over a batch.
double batch(Communicator& comm, const Side& side, std::span<float> values, std::int64_t exchanges) {
  double seconds = 0.0;
  comm.barrier(label("start"));
  for (std::int64_t i = 0; i < exchanges; ++i) {
    rewrite(values, comm.rank(), i);
    const Clock::time_point start = Clock::now();
    side.sum(values);
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }
  return slowest(comm, seconds / static_cast<double>(exchanges));
}

void check_sum(Communicator& comm, const Side& side, std::span<float> values) {
  if (side.name == "copy") return;
  rewrite(values, comm.rank(), 3);
  side.sum(values);
  std::vector<float> expected(values.size(), 0.0F);
  std::vector<float> part(values.size());
  for (int rank = 0; rank < comm.size(); ++rank) {
    rewrite(part, rank, 3);
    for (std::size_t i = 0; i < part.size(); ++i) expected[i] += part[i];
  }
  if (!std::ranges::equal(values, expected)) {
    throw CheckError("benchmark", side.name + ", " + std::to_string(values.size_bytes()) + " bytes: wrong sum");
  }
}

Json measure(Communicator& comm, const Sides& sides, std::int64_t bytes, std::int64_t rounds) {
  const auto elements = static_cast<std::size_t>(bytes) / sizeof(float);
  const std::int64_t exchanges = std::clamp<std::int64_t>(kBatchBytes / bytes, 1, kMostInABatch);
  const auto values = [&](const Side& side) { return std::span(static_cast<float*>(side.memory.get()), elements); };
  for (const Side& side : sides.all()) check_sum(comm, side, values(side));
  Json seconds;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < sides.all().size(); ++i) {
      const Side& side = sides.all()[(i + static_cast<std::size_t>(round)) % sides.all().size()];
      seconds[side.name].push_back(batch(comm, side, values(side), exchanges));
    }
  }
  return {{"bytes", bytes}, {"exchanges", exchanges}, {"seconds", seconds}};
}

std::vector<std::int64_t> sizes_up_to(std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = kSmallestBytes; bytes <= largest; bytes *= 4) sizes.push_back(bytes);
  if (largest >= kLessonBytes) sizes.push_back(kLessonBytes);
  std::ranges::sort(sizes);
  return sizes;
}

struct Arguments {
  int ranks = 0;
  std::int64_t rounds = 0;
  std::int64_t largest_bytes = 0;
  std::string sides;
  std::string file;
};

int run_rank(const Arguments& arguments, int rank, int memory, const std::string& store) {
  try {
    at::set_num_threads(1);
    ShmCommunicator comm(std::make_shared<ShmRegion>(ShmRegion::adopt_file(memory, arguments.ranks)), rank);
    const Sides sides(comm, arguments.sides, arguments.largest_bytes, store);
    Json sizes = Json::array();
    for (const std::int64_t bytes : sizes_up_to(arguments.largest_bytes)) {
      sizes.push_back(measure(comm, sides, bytes, arguments.rounds));
    }
    if (rank == 0) std::ofstream(arguments.file) << Json{{"ranks", comm.size()}, {"sizes", sizes}}.dump() << "\n";
    comm.barrier(label("end"));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

int wait_for(const std::vector<pid_t>& children) {
  bool failed = false;
  for (const pid_t child : children) {
    int status = 1;
    failed = waitpid(child, &status, 0) != child || status != 0 || failed;
  }
  return failed ? 1 : 0;
}

/// mpirun closes descriptors: its ranks open the memory through this process.
[[noreturn]] void become_mpirun(char** argv, const Arguments& arguments, int memory, const std::string& store) {
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(memory);
  setenv("EXCHANGE_SPEED_MEMORY", path.c_str(), 1);
  setenv("EXCHANGE_SPEED_STORE", store.c_str(), 1);
  const std::string ranks = std::to_string(arguments.ranks);
  std::vector<const char*> command{"mpirun",
                                   "--allow-run-as-root",
                                   "--oversubscribe",
                                   "--bind-to",
                                   "none",
                                   "--mca",
                                   "pml",
                                   "ob1",
                                   "--mca",
                                   "btl",
                                   "self,vader",
                                   "-np",
                                   ranks.c_str()};
  command.insert(command.end(), argv, argv + 6);
  command.push_back(nullptr);
  execvp(command[0], const_cast<char**>(command.data()));
  std::cerr << "[benchmark] mpirun: " << std::strerror(errno) << "; install openmpi-bin\n";
  _exit(2);
}

int run(char** argv, const Arguments& arguments) {
  if (const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK")) {
    return run_rank(arguments, std::stoi(rank), open(std::getenv("EXCHANGE_SPEED_MEMORY"), O_RDWR | O_CLOEXEC),
                    std::getenv("EXCHANGE_SPEED_STORE"));
  }
  const int memory = create_region_file(arguments.ranks, kDefaultSlotBytes);
  const std::string store = arguments.file + ".store";
  std::filesystem::remove(store);
  std::vector<pid_t> children;
  const bool mpi = arguments.sides.find("openmpi") != std::string::npos;
  for (int rank = 0; rank < (mpi ? 1 : arguments.ranks); ++rank) {
    const pid_t child = fork();
    if (child == 0 && mpi) become_mpirun(argv, arguments, memory, store);
    if (child == 0) _exit(run_rank(arguments, rank, memory, store));
    children.push_back(child);
  }
  const int code = wait_for(children);
  std::filesystem::remove(store);
  return code;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return samegrad::run(argv, {std::stoi(argv[1]), std::stol(argv[2]), std::stol(argv[3]), argv[4], argv[5]});
}
