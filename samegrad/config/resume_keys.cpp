#include "samegrad/config/resume_keys.h"

#include <algorithm>
#include <array>

namespace samegrad {
namespace {

// Where and how it is computed, when it stops, how long it is, and what to do about a window to come. Of the data the
// paths: the data lock compares contents.
constexpr std::array<std::string_view, 13> kMayChange{"run",
                                                      "logging",
                                                      "checkpoint",
                                                      "evaluation",
                                                      "model.gradient_checkpointing",
                                                      "plan.stop_at",
                                                      "plan.updates",
                                                      "plan.epochs",
                                                      "objective.empty_window",
                                                      "optimizer.non_finite",
                                                      "data.train",
                                                      "data.validation",
                                                      "data.prefetch"};

}  // namespace

std::span<const std::string_view> keys_a_resume_may_change() { return kMayChange; }

bool a_resume_may_change(std::string_view key) {
  return std::ranges::any_of(kMayChange, [&](std::string_view one) {
    return key == one || (key.starts_with(one) && key.substr(one.size()).starts_with('.'));
  });
}

}  // namespace samegrad
