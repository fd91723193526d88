// Runs one function on every rank of a run whose ranks are threads.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "samegrad/comm/thread_communicator.h"

namespace samegrad::testing {

/// Calls `body` on `world_size` threads. Returns each rank's what(), "" where nothing was thrown. A rank's communicator
/// is destroyed when its body ends.
inline std::vector<std::string> run_ranks(int world_size, const std::function<void(Communicator&)>& body,
                                          std::size_t slot_bytes = 65'536) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_communicators(world_size, slot_bytes);
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&body, &error = errors[i], comm = std::move(ranks[i])]() mutable {
      try {
        const std::unique_ptr<Communicator> owned = std::move(comm);
        body(*owned);
      } catch (const std::exception& exception) {
        error = exception.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return errors;
}

inline std::vector<std::string> nothing_thrown(int world_size) {
  return std::vector<std::string>(static_cast<std::size_t>(world_size));
}

}  // namespace samegrad::testing
