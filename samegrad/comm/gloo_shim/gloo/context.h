// What ProcessGroupGloo.hpp needs of Gloo's context: a name, and setTimeout, which the wheel defines.
#pragma once

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
