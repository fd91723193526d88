// A power loss after every file operation of a save, in every state of the disk that crash_states.h allows: what is
// found is the old or the new, whole, and nothing is lost of what was saved.
#include <cerrno>
#include <fstream>
#include <functional>
#include <limits>
#include <unordered_set>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "tests/campaigns/broken_saves.h"
#include "tests/campaigns/campaign.h"
#include "tests/campaigns/crash_states.h"
#include "tests/campaigns/observed_files.h"
#include "tests/campaigns/saved_values.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

constexpr float kAbsent = 0.0F;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Update -> what may be found for it: seeds, kAbsent.
using AllowedValues = std::map<std::int64_t, std::set<float>>;

enum class Interruption { kKill, kFailure };

struct Part {
  std::function<void(FileOperations&, const std::filesystem::path&)> act;
  SavedValues changes;  ///< what it makes of the updates; kAbsent: removed
  std::int64_t interrupted_at = kNever;
  Interruption interruption = Interruption::kKill;
};

struct Scenario {
  std::string name;
  std::vector<Part> parts;
  bool exchange = true;
  std::function<bool(const FileOperation&)> left_out = {};  ///< broken variant: operations that do not take place
};

Part save(std::int64_t update, float seed) {
  return {.act = [=](FileOperations& files,
                     const std::filesystem::path& folder) { save_small(folder, update, "run-a", seed, files); },
          .changes = {{update, seed}}};
}

Part prune(std::int64_t removed) {
  return {.act = [](FileOperations& files,
                    const std::filesystem::path& folder) { prune_checkpoints(folder, "run-a", {.keep = 1}, files); },
          .changes = {{removed, kAbsent}}};
}

Part saved_in_a_broken_way(std::int64_t update, float seed, BrokenSave way) {
  Part part = save(update, seed);
  part.act = [=](FileOperations& files, const std::filesystem::path& folder) {
    broken_save(files, folder, update, seed, way);
  };
  return part;
}

void write_tree(const std::filesystem::path& root, const DiskTree& tree) {
  for (const auto& [path, bytes] : tree) {
    if (bytes) {
      write_text(root / path, *bytes);
    } else {
      std::filesystem::create_directory(root / path);
    }
  }
}

/// A state, and what is allowed in it: what was tried once need not be tried again.
std::string key_of(const DiskTree& tree, const AllowedValues& allowed) {
  std::string key;
  for (const auto& [update, values] : allowed) {
    key += std::to_string(update);
    for (const float value : values) key += " " + std::to_string(value);
    key += '\0';
  }
  for (const auto& [path, bytes] : tree) key += path.string() + '\0' + bytes.value_or("/") + '\0';
  return key;
}

/// Holds what is found in `checkpoints` against what is allowed.
void check_found(CampaignResult& result, const std::string& what, const std::filesystem::path& checkpoints,
                 const AllowedValues& allowed) {
  const FoundCheckpoints found = found_checkpoints(checkpoints);
  for (const std::string& problem : found.problems) result.fail(what + ": damaged: " + problem);
  bool must_find = false;
  for (const auto& [update, values] : allowed) {
    const auto place = found.values.find(update);
    if (!values.contains(place == found.values.end() ? kAbsent : place->second)) {
      result.fail(what + ": found " + text_of(found.values));
    }
    must_find = must_find || !values.contains(kAbsent);
  }
  if (must_find && !found.latest) result.fail(what + ": nothing to go on from");
}

/// One scenario: its operations once, really, and then every state.
class PowerLoss {
 public:
  PowerLoss(CampaignResult& result, const Scenario& scenario, std::int64_t most, std::mt19937_64& random,
            std::unordered_set<std::string>& tried)
      : result_(&result), scenario_(&scenario), most_(most), random_(&random), tried_(&tried), states_(root_.path()) {}

  void run() {
    AllowedValues allowed;
    std::size_t checked_to = 0;
    for (const Part& part : scenario_->parts) {
      for (const auto& [update, value] : part.changes) {
        allowed.try_emplace(update, std::set<float>{kAbsent}).first->second.insert(value);
      }
      const bool acknowledged = act(part);
      for (; checked_to < states_.operations(); ++checked_to) check_states(checked_to, allowed);
      if (acknowledged) {
        for (const auto& [update, value] : part.changes) allowed[update] = {value};
      }
      check_states(states_.operations(), allowed);
    }
    result_->count("operations", static_cast<std::int64_t>(states_.operations()));
  }

 private:
  std::filesystem::path checkpoints() const { return root_.path() / "artifacts" / "checkpoints"; }

  /// Returns whether the part said that it is done.
  bool act(const Part& part) {
    ObservedFiles files;
    std::int64_t operations = 0;
    files.before = [&](const FileOperation& operation) {
      if (operation.kind == FileOperationKind::kExchange && !scenario_->exchange) return EINVAL;
      const std::int64_t index = operations++;
      const bool stops =
          part.interruption == Interruption::kKill ? index >= part.interrupted_at : index == part.interrupted_at;
      return stops ? EIO : 0;
    };
    files.after = [&](const FileOperation& operation) {
      if (!scenario_->left_out || !scenario_->left_out(operation)) states_.add(operation);
    };
    const std::string error = error_text<RunError>([&] { part.act(files, checkpoints()); });
    return error.empty() && operations <= part.interrupted_at;
  }

  void check_states(std::size_t prefix, const AllowedValues& allowed) {
    const bool all = states_.visit(prefix, most_, *random_, [&](const DiskTree& tree) {
      result_->count("states");
      if (tried_->insert(xxh3_128_hex(key_of(tree, allowed))).second) check_state(prefix, tree, allowed);
    });
    result_->count(all ? "places of which all states were tried" : "places of which states were drawn");
  }

  void check_state(std::size_t prefix, const DiskTree& tree, const AllowedValues& allowed) {
    const std::string what = scenario_->name + ", after operation " + std::to_string(prefix);
    const TemporaryFolder disk(Medium::kMemory);
    write_tree(disk.path(), tree);
    const std::filesystem::path found = disk.path() / "artifacts" / "checkpoints";
    check_found(*result_, what, found, allowed);
    // The run goes on: its next save clears up, and takes nothing away.
    constexpr std::int64_t kNext = 9;
    const FoundCheckpoints before = found_checkpoints(found);
    save_small(found, kNext);
    FoundCheckpoints after = found_checkpoints(found);
    after.values.erase(kNext);
    if (after.values != before.values || !hidden_names(found).empty()) {
      result_->fail(what + ": after the next save " + text_of(after.values));
    }
    result_->count("different states");
  }

  CampaignResult* result_;
  const Scenario* scenario_;
  std::int64_t most_;
  std::mt19937_64* random_;
  std::unordered_set<std::string>* tried_;
  TemporaryFolder root_{Medium::kMemory};
  CrashStates states_;
};

std::vector<Scenario> scenarios() {
  return {{"first save", {save(2, 1)}},
          {"next save", {save(2, 1), save(4, 2)}},
          {"replacing by exchange", {save(2, 1), save(2, 2)}},
          {"replacing by two renames", {save(2, 1), save(2, 2)}, /*exchange=*/false},
          {"next save and pruning", {save(2, 1), save(4, 2), prune(2), save(6, 3), prune(4)}}};
}

/// A save over step 2 is interrupted at each of its operations; then another run saves step 4.
std::vector<Scenario> interrupted_scenarios() {
  constexpr std::int64_t kOperations = 50;  // more than a save has
  std::vector<Scenario> all;
  for (const bool exchange : {true, false}) {
    for (const Interruption interruption : {Interruption::kKill, Interruption::kFailure}) {
      for (std::int64_t at = 0; at < kOperations; ++at) {
        Part interrupted = save(2, 2);
        interrupted.interrupted_at = at;
        interrupted.interruption = interruption;
        all.push_back({std::string(interruption == Interruption::kKill ? "killed" : "failed") + " at operation " +
                           std::to_string(at) + (exchange ? "" : " without exchange") + ", then the next save",
                       {save(2, 1), interrupted, save(4, 3)},
                       exchange});
      }
    }
  }
  return all;
}

std::vector<Scenario> broken_variants() {
  const auto without = [](FileOperationKind kind) {
    return [kind](const FileOperation& operation) { return operation.kind == kind; };
  };
  const auto without_the_next_one_after_a_removing_rename = [](const FileOperation& operation) {
    static bool renamed = false;
    const bool left_out = renamed && operation.kind == FileOperationKind::kFsyncFolder;
    renamed = operation.other.filename().string().starts_with(".removing-");
    return left_out;
  };
  return {{"no folder's fsync", {save(2, 1), save(4, 2)}, true, without(FileOperationKind::kFsyncFolder)},
          {"no file's fsync", {save(2, 1), save(4, 2)}, true, without(FileOperationKind::kFsync)},
          {"older one removed before the rename",
           {save(2, 1), saved_in_a_broken_way(2, 2, BrokenSave::kRemoveBeforeRename)}},
          {"manifest first, in place", {save(2, 1), saved_in_a_broken_way(4, 2, BrokenSave::kManifestFirstInPlace)}},
          {"pruning without an fsync before the removal",
           {save(2, 1), save(4, 2), prune(2)},
           true,
           without_the_next_one_after_a_removing_rename}};
}

/// A single file that is replaced.
void check_a_file(CampaignResult& result, std::mt19937_64& random) {
  const TemporaryFolder root(Medium::kMemory);
  CrashStates states(root.path());
  ObservedFiles files;
  files.after = [&](const FileOperation& operation) { states.add(operation); };
  const std::filesystem::path path = root.path() / "file";
  write_file_atomically(path, "the old bytes", files);
  const std::size_t first = states.operations();
  write_file_atomically(path, "the new bytes", files);
  for (std::size_t prefix = first; prefix <= states.operations(); ++prefix) {
    states.visit(prefix, kNever, random, [&](const DiskTree& tree) {
      const auto found = tree.find("file");
      const bool is_new = found != tree.end() && found->second == "the new bytes";
      const bool is_old = found != tree.end() && found->second == "the old bytes" && prefix < states.operations();
      if (!is_new && !is_old) result.fail("one file, after operation " + std::to_string(prefix));
      result.count("states of a single file");
    });
  }
}

int run(int argc, char** argv) {
  const CampaignOptions options = campaign_options(argc, argv, /*budget=*/20);
  std::mt19937_64 random(options.seed);
  CampaignResult result("power_loss", options);
  std::unordered_set<std::string> tried;
  for (const Scenario& scenario : scenarios()) PowerLoss(result, scenario, options.budget, random, tried).run();
  for (const Scenario& scenario : interrupted_scenarios()) {
    PowerLoss(result, scenario, options.budget / 10, random, tried).run();
  }
  check_a_file(result, random);
  for (const Scenario& scenario : broken_variants()) {
    CampaignResult found("", options);
    std::unordered_set<std::string> tried_broken;
    PowerLoss(found, scenario, options.budget, random, tried_broken).run();
    result.broken_variant(scenario.name, found);
  }
  return result.finish();
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) { return samegrad::run(argc, argv); }
