#include "samegrad/checkpoint/resume_rules.h"

#include <algorithm>
#include <optional>

#include "samegrad/base/error.h"
#include "samegrad/config/load.h"
#include "samegrad/config/resume_keys.h"
#include "samegrad/plan/plan_cursor.h"
#include "samegrad/plan/sampler_history.h"

namespace samegrad {
namespace {

std::string file_of(const Checkpoint& checkpoint, std::string_view name) { return (checkpoint.path / name).string(); }

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& key, const std::string& before,
                         const std::string& now) {
  throw InputError("resume", key + ": " + checkpoint.path.string() + " was trained with " + before + ", this run has " +
                                 now + "; a resume may not change it: give the old value, or start a new run");
}

void compare_configs(const Checkpoint& checkpoint, const Json& before, const Json& now, const std::string& prefix) {
  const auto may_change = [&](const std::string& name) { return a_resume_may_change(prefix + name); };
  for (const auto& [name, value] : now.items()) {
    if (may_change(name)) continue;
    const std::string key = prefix + name;
    if (!before.contains(name)) refuse(checkpoint, key, "nothing", value.dump());
    if (value.is_object()) {
      compare_configs(checkpoint, before[name], value, key + ".");
    } else if (before[name] != value) {
      refuse(checkpoint, key, before[name].dump(), value.dump());
    }
  }
  for (const auto& [name, value] : before.items()) {
    if (!may_change(name) && !now.contains(name)) refuse(checkpoint, prefix + name, value.dump(), "nothing");
  }
}

std::string samples_text(const SplitLock* split) {
  return split == nullptr ? "none"
                          : std::to_string(split->samples) + " samples (sha256 " + split->sha256.substr(0, 12) + ")";
}

// Validation data decides no bits: it may change, but the losses measured on it are then not one curve.
std::optional<std::string> validation_note(const DataLock& before, const DataLock& now) {
  const SplitLock* old_split = split_of(before, "validation");
  const SplitLock* new_split = split_of(now, "validation");
  const bool same = old_split == nullptr ? new_split == nullptr : new_split != nullptr && *old_split == *new_split;
  if (same) return std::nullopt;
  return "data.validation: " + samples_text(old_split) + " before this resume, " + samples_text(new_split) +
         " now; validation losses from here on are of other data than those before";
}

std::optional<std::string> length_note(const Checkpoint& checkpoint, const RunConfig& config, const UpdatePlan& plan) {
  const Json& schedule = state_member(checkpoint, "schedule");
  const auto before = schedule.value("steps_total", plan.updates());
  if (plan.updates() < checkpoint.update) {
    throw InputError("resume", "plan.updates: " + checkpoint.path.string() + " is at update " +
                                   std::to_string(checkpoint.update) + ", this run has " +
                                   std::to_string(plan.updates()) + " in all; allowed: at least " +
                                   std::to_string(checkpoint.update));
  }
  if (before == plan.updates() || config.schedule.kind == "constant") return std::nullopt;
  return "plan.updates: " + std::to_string(before) + " before this resume, " + std::to_string(plan.updates()) +
         " now; the " + config.schedule.kind + " schedule ends there, so learning rates after update " +
         std::to_string(checkpoint.update) +
         " are of the new length, those up to it of the old: no run of one length " + "has these bits";
}

// That the histories are of this update, and hold together as many samples as the plan has given out.
void check_histories(const Checkpoint& checkpoint, const RunConfig& config, const PlanCursor& cursor) {
  std::int64_t samples = 0;
  for (std::int64_t rank = 0; rank < config.plan.virtual_ranks; ++rank) {
    const std::string file = file_of(checkpoint, "rank-" + std::to_string(rank) + ".json");
    if (static_cast<std::size_t>(rank) >= checkpoint.rank_files.size()) {
      throw CheckError("resume", file + ": missing, the history of virtual rank " + std::to_string(rank));
    }
    const SamplerHistory history =
        sampler_history_from_json(checkpoint.rank_files[static_cast<std::size_t>(rank)], rank, file);
    if (history.update != cursor.update) {
      throw CheckError("resume", file + ": virtual rank " + std::to_string(rank) + " is at update " +
                                     std::to_string(history.update) + ", the checkpoint at " +
                                     std::to_string(cursor.update));
    }
    samples += history.samples_consumed;
  }
  if (samples != cursor.samples_consumed) {
    throw CheckError("resume", file_of(checkpoint, "rank-*.json") + ": the virtual ranks have consumed " +
                                   std::to_string(samples) + " samples; after update " + std::to_string(cursor.update) +
                                   " the plan has given out " + std::to_string(cursor.samples_consumed));
  }
}

void check_place(const Checkpoint& checkpoint, const RunConfig& config, const UpdatePlan& plan) {
  const PlanCursor cursor = plan.cursor(checkpoint.update);
  const Json expected = plan_cursor_to_json(cursor);
  if (const Json& found = state_member(checkpoint, "cursor"); found != expected) {
    throw CheckError("resume", file_of(checkpoint, kStateFile) + ": cursor is " + found.dump() + "; after update " +
                                   std::to_string(checkpoint.update) + " the plan is at " + expected.dump());
  }
  check_histories(checkpoint, config, cursor);
}

}  // namespace

const Json& state_member(const Checkpoint& checkpoint, std::string_view name) {
  const auto found = checkpoint.state.find(name);
  if (!checkpoint.state.is_object() || found == checkpoint.state.end()) {
    throw CheckError("checkpoint", file_of(checkpoint, kStateFile) + ": '" + std::string(name) + "' is missing");
  }
  return *found;
}

void refuse_state(const Checkpoint& checkpoint, const Json::exception& error) {
  throw CheckError("checkpoint", file_of(checkpoint, kStateFile) + ": not as a training writes it: " + error.what());
}

void check_resume_config(const Checkpoint& checkpoint, const RunConfig& config) {
  compare_configs(checkpoint, state_member(checkpoint, "config"), config_to_json(config), "");
}

std::vector<std::string> check_resume(const Checkpoint& checkpoint, const RunConfig& config, const UpdatePlan& plan,
                                      const DataLock& data_lock) {
  try {
    check_resume_config(checkpoint, config);
    const DataLock before = data_lock_from_json(state_member(checkpoint, "data_lock"), file_of(checkpoint, kStateFile));
    compare_data_locks(training_part(before), training_part(data_lock));
    if (const Json& digest = state_member(checkpoint, "plan_digest"); digest != plan.digest()) {
      throw InputError("resume", "plan: " + checkpoint.path.string() + " was trained on plan " +
                                     digest.get<std::string>().substr(0, 12) + ", this run has plan " +
                                     plan.digest().substr(0, 12) +
                                     "; start a new run, or use the data and version that made the checkpoint");
    }
    std::vector<std::string> notes;
    if (auto note = length_note(checkpoint, config, plan)) notes.push_back(*std::move(note));
    if (auto note = validation_note(before, data_lock)) notes.push_back(*std::move(note));
    check_place(checkpoint, config, plan);
    return notes;
  } catch (const Json::exception& error) {
    refuse_state(checkpoint, error);
  }
}

}  // namespace samegrad
