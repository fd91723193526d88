#include "apps/samegrad/resume_schedules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using Legs = std::vector<ResumeLeg>;

constexpr std::int64_t kDefaultUpdates = 12;
constexpr std::int64_t kPastLastStop = 4;

/// The last update of an epoch before `updates`, if one ends there.
std::optional<std::int64_t> last_epoch_end(const UpdatePlan& plan, std::int64_t updates) {
  for (std::int64_t update = updates - 1; update >= 1; --update) {
    const PlanCursor cursor = plan.cursor(update);
    if (cursor.epoch > 0 && cursor.window_in_epoch == 0) {
      return update;
    }
  }
  return std::nullopt;
}

std::vector<Legs> asked_for(const CommandLine& line, std::int64_t updates) {
  std::vector<Legs> runs;
  if (line.stops.empty()) {
    for (const std::int64_t processes : line.worlds) {
      runs.push_back({{processes, updates}});
    }
    return runs;
  }
  constexpr std::array<std::int64_t, 3> kInTurn{2, 3, 1};
  Legs legs;
  for (std::size_t i = 0; i <= line.stops.size(); ++i) {
    legs.push_back({.processes = line.worlds.empty() ? kInTurn[i % kInTurn.size()] : line.worlds[i],
                    .last_update = i < line.stops.size() ? line.stops[i] : updates});
  }
  return {legs};
}

std::vector<Legs> several(const UpdatePlan& plan, std::int64_t updates) {
  std::vector<Legs> runs{{{2, updates}}, {{3, updates}}, {{5, updates}}};
  const std::int64_t third = updates / 3;
  std::vector<Legs> stopped{
      {{2, third}, {3, 2 * third}, {1, updates}}, {{1, 1}, {4, updates}}, {{5, updates - 1}, {2, updates}}};
  if (const auto epoch_end = last_epoch_end(plan, updates)) {
    stopped.push_back({{3, *epoch_end}, {2, updates}});
  }
  for (const Legs& legs : stopped) {
    const bool ascending =
        std::ranges::adjacent_find(legs, std::greater_equal<>(), &ResumeLeg::last_update) == legs.end();
    if (ascending && legs.front().last_update >= 1) {
      runs.push_back(legs);
    }
  }
  return runs;
}

}  // namespace

std::int64_t updates_to_compare(const CommandLine& line, const UpdatePlan& plan) {
  const std::int64_t total = plan.updates();
  if (line.updates > total) {
    throw InputError("verify-resume", "--updates: " + std::to_string(line.updates) + "; the run has " +
                                          std::to_string(total) + ": give fewer, or raise plan.updates or plan.epochs");
  }
  const std::int64_t last_stop = line.stops.empty() ? 0 : line.stops.back();
  const std::int64_t wished = line.stops.empty() ? kDefaultUpdates : last_stop + kPastLastStop;
  const std::int64_t updates = line.updates > 0 ? line.updates : std::min(wished, total);
  if (last_stop >= updates) {
    throw InputError("verify-resume", "--stops: " + std::to_string(last_stop) +
                                          "; a stop lies before the last update, " + std::to_string(updates) +
                                          ": give earlier ones, or more --updates");
  }
  return updates;
}

std::vector<ResumeSchedule> choose_schedules(const CommandLine& line, const RunConfig& config, const UpdatePlan& plan,
                                             std::int64_t updates) {
  const bool nothing_asked = line.stops.empty() && line.worlds.empty();
  const std::vector<Legs> runs = nothing_asked ? several(plan, updates) : asked_for(line, updates);
  const std::vector<std::string> backends =
      line.backends.empty() ? std::vector<std::string>{config.run.backend} : line.backends;
  std::vector<ResumeSchedule> schedules{{backends.front(), {{1, updates}}}};
  for (const std::string& backend : backends) {
    for (const Legs& legs : runs) {
      const ResumeSchedule schedule{backend, legs};
      if (schedule != schedules.front()) {  // --worlds 1,2: the 1 is there already
        schedules.push_back(schedule);
      }
    }
  }
  return schedules;
}

}  // namespace samegrad
