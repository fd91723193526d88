// Inputs that are hostile to any reader, and changes of good ones.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace samegrad::fuzz {

struct Input {
  std::string name;
  std::string bytes;
};

/// Deep nesting, long runs of one byte, lengths that nothing follows. Local.
std::vector<Input> hostile_inputs();

/// `bytes` after one to four changes; `other` is what is spliced in. The same `random` gives the same. Local.
std::string mutated(std::string bytes, const std::string& other, std::mt19937_64& random);

}  // namespace samegrad::fuzz
