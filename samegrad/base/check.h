// Broken invariants: mistakes of samegrad itself, never of its input.
#pragma once

#include <sstream>
#include <stdexcept>

namespace samegrad {

/// An invariant of the program does not hold. Caught at the edge only, and reported as a fault of samegrad.
class InvariantError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <typename A, typename B>
[[noreturn]] void throw_invariant(const char* file, int line, const char* text, const A& a, const B& b) {
  std::ostringstream out;
  out << "[invariant] " << file << ":" << line << ": " << text << " does not hold: " << a << " and " << b;
  throw InvariantError(out.str());
}

}  // namespace samegrad

// Both operands are printed; `op` is one of == != < <= > >=.
#define SAMEGRAD_CHECK_OP(a, op, b)                                                                           \
  do {                                                                                                        \
    const auto& samegrad_check_a = (a);                                                                       \
    const auto& samegrad_check_b = (b);                                                                       \
    if (!(samegrad_check_a op samegrad_check_b))                                                              \
      ::samegrad::throw_invariant(__FILE__, __LINE__, #a " " #op " " #b, samegrad_check_a, samegrad_check_b); \
  } while (false)
