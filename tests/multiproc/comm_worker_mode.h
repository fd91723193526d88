// A mode of the worker of the tests of comm and launch: what each rank does.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/comm/communicator.h"

namespace samegrad {

constexpr std::int64_t kUpdate = 7;

struct Arguments {
  int world_size = 0;
  std::string argument;
};

using Mode = void (*)(Communicator&, const Arguments&);

/// Modes that move data and check what arrives, by name.
const std::map<std::string, Mode>& exchange_modes();

inline void require(bool holds, const std::string& what) {
  if (!holds) {
    throw CheckError("comm_worker", what);
  }
}

}  // namespace samegrad
