#include "samegrad/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace samegrad {

double learning_rate_at(std::int64_t step, std::int64_t total_steps, double learning_rate,
                        const ScheduleConfig& schedule) {
  const std::int64_t warmup = schedule.warmup_updates;
  if (step <= warmup) return learning_rate * static_cast<double>(step) / static_cast<double>(warmup);
  if (schedule.kind == "constant") return learning_rate;
  const auto decay_steps = static_cast<double>(std::max<std::int64_t>(1, total_steps - warmup));
  const double progress = std::min(1.0, static_cast<double>(step - warmup) / decay_steps);
  const double remaining =
      schedule.kind == "linear" ? 1.0 - progress : 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return learning_rate * (schedule.minimum_factor + (1.0 - schedule.minimum_factor) * remaining);
}

}  // namespace samegrad
