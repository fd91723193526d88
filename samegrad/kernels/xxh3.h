// XXH3-128, seed 0, over pieces: the hash of tensors at every update, and of indexes. The same value for every set of
// instructions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace samegrad {

class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(const Xxh3&) = delete;
  Xxh3& operator=(const Xxh3&) = delete;

  /// Pieces count in the order given; how they are cut does not. Local.
  void update(std::string_view bytes);
  /// 32 lower-case hexadecimal digits of the canonical (big-endian) form, of all pieces so far.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace samegrad
