// What is wrong with a config, told at once: who brings one that was written for another program must not learn of its
// keys one a run.
#pragma once

#include <string>
#include <vector>

#include "samegrad/base/error.h"

namespace samegrad {

class Refusals {
 public:
  /// Runs `read` and keeps what it refuses; throws after the twentieth. Local.
  template <typename Read>
  void collect(const Read& read) {
    try {
      read();
    } catch (const InputError& error) {
      add(error.what());
    }
  }

  /// Throws one InputError of all that was kept. Local.
  void throw_if_any() const;

 private:
  void add(std::string line);

  std::vector<std::string> lines_;
};

}  // namespace samegrad
