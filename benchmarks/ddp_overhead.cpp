// `ddp_overhead RANKS MODEL SIDES ROUNDS ITERATIONS FILE`: seconds of a training step on RANKS processes, each way to
// train in turn (SIDES, with commas): bare (no library: no exchange), ddp (samegrad's DistributedDataParallel over
// shared memory), window (its Window), c10d and c10d_views (PyTorch's c10d::Reducer over Gloo, gradients apart from its
// buckets or in them). MODEL: lesson, 3m, 25m. Rank 0 writes FILE: JSON, by side and round the median seconds of the
// slowest rank and of processor time of all ranks; and the largest difference of a gradient from the mean of the ranks'
// own, relative to the largest component. benchmarks/ddp_overhead.py runs it.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/c10d_reducer.h"
#include "benchmarks/ddp_overhead_sides.h"
#include "samegrad/base/json.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_region.h"

namespace samegrad {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<double> gathered(const World& world, double mine) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  world.communicator().all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                                  {"figure", 0, world.timeout()});
  return all;
}

at::Tensor mean_over_ranks(const World& world, const at::Tensor& own) {
  at::Tensor all = at::empty({world.size(), own.numel()});
  world.communicator().all_gather({static_cast<const std::byte*>(own.const_data_ptr()), own.nbytes()},
                                  {static_cast<std::byte*>(all.mutable_data_ptr()), all.nbytes()},
                                  {"gradient", 0, world.timeout()});
  return all.to(at::kDouble).mean(0);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// User and system time of this process, all threads.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Times {
  double wall = 0.0;  ///< seconds of the slowest rank
  double cpu = 0.0;   ///< of all ranks together
};

Times timed_step(const World& world, Side& side) {
  world.barrier();
  const double cpu = cpu_seconds();
  const Clock::time_point start = Clock::now();
  side.step();
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const std::vector<double> cpus = gathered(world, cpu_seconds() - cpu);
  return {std::ranges::max(gathered(world, wall)), std::accumulate(cpus.begin(), cpus.end(), 0.0)};
}

using Sides = std::vector<std::pair<std::string, std::unique_ptr<Side>>>;

Sides make_sides(const World& world, const Shape& shape, const Batch& batch, const std::string& names,
                 std::unique_ptr<C10dGroup>& group, const std::string& path) {
  Sides sides;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    std::unique_ptr<Side> side;
    if (name == "ddp") {
      side = std::make_unique<DdpSide>(shape, batch, world);
    } else if (name == "window") {
      side = std::make_unique<WindowSide>(shape, batch, world);
    } else if (name.starts_with("c10d")) {
      if (!group) group = std::make_unique<C10dGroup>(path + ".store", world.rank(), world.size());
      side = std::make_unique<C10dSide>(shape, batch, *group, name == "c10d_views");
    } else {
      side = std::make_unique<Side>(shape, batch);
    }
    sides.emplace_back(name, std::move(side));
  }
  return sides;
}

double largest_difference(const World& world, const Shape& shape, const Batch& batch, const Sides& sides) {
  Side own(shape, batch);
  own.gradients();
  const at::Tensor expected = mean_over_ranks(world, own.gradient());
  double difference = 0.0;
  for (const auto& [name, side] : sides) {
    if (name == "bare") continue;
    side->gradients();
    const at::Tensor error = (side->gradient().to(at::kDouble) - expected).abs().max() / expected.abs().max();
    difference = std::max(difference, error.item<double>());
  }
  return difference;
}

void measure(const World& world, char** arguments) {
  const Shape& shape = kShapes.at(arguments[2]);
  const std::int64_t rounds = std::stol(arguments[4]);
  const std::int64_t iterations = std::stol(arguments[5]);
  const std::string path = arguments[6];
  const Batch batch = batch_of(shape, world.rank());
  std::unique_ptr<C10dGroup> group;
  const Sides sides = make_sides(world, shape, batch, arguments[3], group, path);
  const double difference = largest_difference(world, shape, batch, sides);
  for (const auto& [name, side] : sides) {
    for (int warm_up = 0; warm_up < 2; ++warm_up) timed_step(world, *side);
  }
  Json seconds = Json::object();
  Json cpu = Json::object();
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::map<std::string, std::vector<double>> walls;
    std::map<std::string, std::vector<double>> cpus;
    for (std::int64_t i = 0; i < iterations; ++i) {
      for (const auto& [name, side] : sides) {
        const Times times = timed_step(world, *side);
        walls[name].push_back(times.wall);
        cpus[name].push_back(times.cpu);
      }
    }
    for (const auto& [name, values] : walls) seconds[name].push_back(median(values));
    for (const auto& [name, values] : cpus) cpu[name].push_back(median(values));
  }
  if (world.rank() != 0) return;
  std::ofstream(path) << Json{{"ranks", world.size()},
                              {"parameters", sides.front().second->gradient().numel()},
                              {"tokens", shape.sequences * shape.tokens},
                              {"difference", difference},
                              {"seconds", seconds},
                              {"cpu_seconds", cpu}}
                             .dump()
                      << "\n";
}

int run_rank(int memory, int ranks, int rank, char** arguments) {
  try {
    at::set_num_threads(1);
    // Memory stays with the process: else pages given back and taken anew by one side are timed in another.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, -1);
    const auto communicator =
        std::make_shared<ShmCommunicator>(std::make_shared<ShmRegion>(ShmRegion::adopt_file(memory, ranks)), rank);
    const World world(communicator, std::chrono::minutes(2));
    world.barrier();
    measure(world, arguments);
    world.barrier();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "rank " << rank << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int ranks = std::stoi(argv[1]);
  const int memory = samegrad::create_region_file(ranks, samegrad::kDefaultSlotBytes);
  if (ranks == 1) return samegrad::run_rank(memory, 1, 0, argv);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(samegrad::run_rank(memory, ranks, rank, argv));
    children.push_back(child);
  }
  bool failed = false;
  for (const pid_t child : children) {
    int status = 1;
    failed = waitpid(child, &status, 0) != child || status != 0 || failed;
  }
  return failed ? 1 : 0;
}
