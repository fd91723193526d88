#include "samegrad/launch/restart_policy.h"

#include <algorithm>

namespace samegrad {
namespace {

std::string restarts_text(int number) { return std::to_string(number) + (number == 1 ? " restart" : " restarts"); }

std::string processes_text(int number) { return std::to_string(number) + (number == 1 ? " process" : " processes"); }

/// Whether `last` came no further than the attempt before it. A resumed run comes to the same update after fewer
/// collectives; a program that keeps its own checkpoints may give all of them the same update.
bool came_no_further(const AttemptEnd& before, const AttemptEnd& last) {
  if (before.processes != last.processes || before.progress != last.progress) {
    return false;
  }
  return last.progress ? last.update <= before.update
                       : last.update == before.update && last.collectives == before.collectives;
}

constexpr std::size_t kQuickAttempts = 5;
constexpr std::chrono::seconds kQuick{10};

/// The last attempts were too short for any progress, and ended alike.
bool only_quick_ends(std::span<const AttemptEnd> ends) {
  return ends.size() >= kQuickAttempts && std::ranges::all_of(ends.last(kQuickAttempts), [&](const AttemptEnd& end) {
           return end.lasted < kQuick && end.exit_code == ends.back().exit_code &&
                  end.processes == ends.back().processes;
         });
}

/// How the last attempt ended, which came no further than the one before it.
std::string end_without_progress(const AttemptEnd& last) {
  const std::string place = !last.update       ? ""
                            : *last.update > 0 ? " in update " + std::to_string(*last.update)
                                               : " before its first update";
  const std::string saved = !last.progress           ? ""
                            : last.progress->empty() ? ", without a checkpoint"
                                                     : ", without a checkpoint after " + *last.progress;
  return "the last attempt ended" + place + saved + ", no further than the one before";
}

}  // namespace

RestartDecision decide_restart(std::span<const AttemptEnd> ends, const RestartLimits& limits) {
  const AttemptEnd& last = ends.back();
  if (last.exit_code == 0 || last.stopped || limits.max_restarts == 0) {
    return {};
  }
  if (last.is_final) {
    return {false, 0,
            "not started again: exit code " + std::to_string(last.exit_code) +
                " stands for a mistake that another start does not change"};
  }
  if (last.done) {
    return {false, 0, "not started again: its work was done before"};
  }
  const auto restarts = static_cast<int>(ends.size()) - 1;
  if (restarts >= limits.max_restarts) {
    return {false, 0, "gave up after " + restarts_text(restarts)};
  }
  const std::string again =
      "starting again (restart " + std::to_string(restarts + 1) + " of " + std::to_string(limits.max_restarts) + ")";
  const bool stuck = ends.size() > 1 && came_no_further(ends[ends.size() - 2], last);
  if (!stuck) {
    return {true, last.processes, again};
  }
  if (limits.min_processes > 0 && last.processes > limits.min_processes) {
    const AttemptEnd& before = ends[ends.size() - 2];
    const bool same_rank = last.culprit_rank >= 0 && last.culprit_rank == before.culprit_rank;
    return {true, last.processes - 1,
            again + " with " + processes_text(last.processes - 1) + ", because " +
                (same_rank ? "rank " + std::to_string(last.culprit_rank) + " failed twice" : "two attempts ended") +
                (last.update == before.update ? " at the same place" : ", the second one earlier")};
  }
  if (last.update || last.progress) {
    return {false, 0, "stopped early after " + restarts_text(restarts) + ": " + end_without_progress(last)};
  }
  if (only_quick_ends(ends)) {
    return {false, 0,
            "stopped early after " + restarts_text(restarts) + ": " + std::to_string(kQuickAttempts) +
                " attempts in a row ended with exit code " + std::to_string(last.exit_code) + " within " +
                std::to_string(kQuick.count()) + " s"};
  }
  return {true, last.processes, again};
}

}  // namespace samegrad
