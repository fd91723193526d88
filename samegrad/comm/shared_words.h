// A small plain value in shared memory that one rank writes and others may read at any time.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace samegrad {

/// Word-wise atomic, so that a reader who comes too early is no data race; whoever needs the words of one store()
/// together orders them by another variable (release after store(), acquire before load()). Each word releases, and its
/// reader acquires, what the writer did before: a reader who met a later store() sees that variable changed.
template <typename T>
class SharedWords {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0);
  static constexpr std::size_t kWords = sizeof(T) / sizeof(std::uint64_t);

 public:
  void store(const T& value) { store_part(value, 0, sizeof(T)); }

  /// Only the words in which bytes [begin, end) of `value` lie: each must be true by itself.
  void store_part(const T& value, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin / sizeof(std::uint64_t); i * sizeof(std::uint64_t) < end; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&value) + i * sizeof(word), sizeof(word));
      words_[i].store(word, std::memory_order_release);
    }
  }

  T load() const {
    std::array<std::uint64_t, kWords> plain;
    for (std::size_t i = 0; i < kWords; ++i) {
      plain[i] = words_[i].load(std::memory_order_acquire);
    }
    return std::bit_cast<T>(plain);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kWords> words_;
};

}  // namespace samegrad
