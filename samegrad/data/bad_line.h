// A line (or piece) of the user's data that cannot be used. Whoever reads the file adds its name and the line's number.
#pragma once

#include <stdexcept>

namespace samegrad {

class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace samegrad
