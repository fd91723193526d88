// Runs one function in real processes that are the ranks of a run. For code that uses what a process has one of, such
// as ATen's default generator. The calling process must not have used autograd before.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_region.h"

namespace samegrad::testing {

/// What `body` returned in each of `world_size` processes, by rank; one that failed shows as a failed expectation. The
/// communicator is over as many processes: each waits until all have joined.
inline std::vector<std::string> run_processes(int world_size, const std::function<std::string(Communicator&)>& body) {
  struct Rank {
    pid_t pid = 0;
    int result = -1;
  };
  const int memory = create_region_file(world_size, kDefaultSlotBytes);
  std::vector<Rank> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      int status = 1;
      try {
        ShmCommunicator comm(std::make_shared<ShmRegion>(ShmRegion::adopt_file(memory, world_size)), rank);
        comm.barrier({"join", 0, std::chrono::minutes(1)});
        const std::string result = body(comm);
        status = write(ends[1], result.data(), result.size()) == static_cast<ssize_t>(result.size()) ? 0 : 1;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      _exit(status);
    }
    close(ends[1]);
    ranks.push_back({pid, ends[0]});
  }
  close(memory);
  std::vector<std::string> results;
  for (const Rank& rank : ranks) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = read(rank.result, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    close(rank.result);
    int status = -1;
    waitpid(rank.pid, &status, 0);
    EXPECT_EQ(status, 0) << "rank " << results.size() << " of " << world_size;
    results.push_back(text);
  }
  return results;
}

}  // namespace samegrad::testing
