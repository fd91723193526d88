#include "samegrad/train/window_ahead.h"

#include <exception>
#include <thread>
#include <utility>

#include "samegrad/base/blocked_signals.h"

namespace samegrad {

void WindowAhead::start(std::int64_t update) {
  try {
    std::packaged_task<BuiltWindow()> task([build = build_, update] { return build(update); });
    std::future<BuiltWindow> built = task.get_future();
    const BlockedSignals blocked;
    std::thread(std::move(task)).detach();
    in_flight_ = std::move(built);
    update_ = update;
  } catch (const std::exception&) {
    // No thread, or no memory for one: take() builds the window, and says what is wrong if it cannot.
  }
}

BuiltWindow WindowAhead::take(std::int64_t update) {
  if (std::future<BuiltWindow> built = std::move(in_flight_); built.valid()) {
    if (update_ == update) return built.get();
    built.wait();
  }
  return build_(update);
}

}  // namespace samegrad
