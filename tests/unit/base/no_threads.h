// For the child of a test: from here on the process can start no thread.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace samegrad {

/// False where one starts nevertheless.
inline bool can_start_no_thread_any_more() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 48);  // no address space is as large
  pthread_t thread{};
  return pthread_setattr_default_np(&attributes) == 0 &&
         pthread_create(
             &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) != 0;
}

}  // namespace samegrad
