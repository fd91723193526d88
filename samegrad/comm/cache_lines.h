// Asking for memory that another core has written, ahead of its use.
#pragma once

#include <cstddef>

namespace samegrad {

inline constexpr std::size_t kCacheLineBytes = 64;

/// All lines at once: to read them one behind the other is a journey each. Local.
inline void prefetch_for_reading(const void* memory, std::size_t bytes) {
  const char* const line = static_cast<const char*>(memory);
  for (std::size_t offset = 0; offset < bytes; offset += kCacheLineBytes) __builtin_prefetch(line + offset);
}

/// To be written: a line that is only read comes without the right to write it, which is a second journey. Local.
inline void prefetch_for_writing(const void* memory, std::size_t bytes) {
#if defined(__x86_64__)
  const char* const line = static_cast<const char*>(memory);
  for (std::size_t offset = 0; offset < bytes; offset += kCacheLineBytes) {
    asm volatile("prefetchw %0" : : "m"(line[offset]));  // the builtin is one for reading, but for newer processors
  }
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

}  // namespace samegrad
