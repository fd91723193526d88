// Each file operation of a save fails once, or from then on: the checkpoints from before stay, the error is told, and
// nothing half written stays.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <set>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/step_name.h"
#include "tests/campaigns/broken_saves.h"
#include "tests/campaigns/campaign.h"
#include "tests/campaigns/observed_files.h"
#include "tests/campaigns/saved_values.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

constexpr std::array kReasons = {ENOSPC, EIO, EROFS, EDQUOT};
constexpr float kOld = 1.0F;
constexpr float kNew = 2.0F;

struct Scenario {
  const char* name;
  SavedValues before;
  SavedValues after;
  std::function<void(FileOperations&, const std::filesystem::path&)> act;
  bool exchange = true;        ///< whether the file system can exchange two names
  bool killed_before = false;  ///< hidden folders of a dead process lie there
};

std::vector<Scenario> scenarios() {
  const auto save = [](std::int64_t update) {
    return [update](FileOperations& files, const std::filesystem::path& folder) {
      save_small(folder, update, "run-a", kNew, files);
    };
  };
  const auto save_and_prune = [](FileOperations& files, const std::filesystem::path& folder) {
    save_small(folder, 4, "run-a", kNew, files);
    prune_checkpoints(folder, "run-a", {.keep = 2}, files);
  };
  return {{"first save", {}, {{4, kNew}}, save(4)},
          {"next save", {{2, kOld}}, {{2, kOld}, {4, kNew}}, save(4)},
          {"replacing by exchange", {{2, kOld}}, {{2, kNew}}, save(2)},
          {"replacing by two renames", {{2, kOld}}, {{2, kNew}}, save(2), /*exchange=*/false},
          {"next save and pruning", {{2, kOld}, {3, kOld}}, {{3, kOld}, {4, kNew}}, save_and_prune},
          {"after a killed save", {{2, kOld}}, {{2, kOld}, {4, kNew}}, save(4), true, /*killed_before=*/true}};
}

/// Lets operation `at` fail, or all from there on, and watches that no failed fsync is tried again or forgotten.
class FailingFiles : public ObservedFiles {
 public:
  FailingFiles(std::int64_t at, int reason, bool from_then_on, bool exchange) {
    before = [this, at, reason, from_then_on, exchange](const FileOperation& operation) {
      const bool names_it = operation.kind == FileOperationKind::kFsync ||
                            operation.kind == FileOperationKind::kFsyncFolder ||
                            operation.kind == FileOperationKind::kRename;
      for (const std::filesystem::path& path : unsynced_) {
        const bool uses = operation.path == path || path.parent_path() == operation.path;
        if (names_it && uses) misuse = "used after its fsync failed: " + path.string();
      }
      if (operation.kind == FileOperationKind::kExchange && !exchange) return EINVAL;
      const std::int64_t index = operations++;
      if (index != at && !(from_then_on && index > at)) return 0;
      if (index == at) failed = operation.kind;
      if (operation.kind == FileOperationKind::kFsync || operation.kind == FileOperationKind::kFsyncFolder) {
        unsynced_.insert(operation.path);
      }
      return reason;
    };
  }

  std::int64_t operations = 0;
  FileOperationKind failed = FileOperationKind::kWrite;
  std::string misuse;

 private:
  std::set<std::filesystem::path> unsynced_;
};

/// A program that does not look at what fsync returns.
class CarelessFiles : public FailingFiles {
 public:
  using FailingFiles::FailingFiles;
  int fsync(int descriptor) override {
    FailingFiles::fsync(descriptor);
    return 0;
  }
};

void set_up(const Scenario& scenario, const std::filesystem::path& folder) {
  for (const auto& [update, seed] : scenario.before) save_small(folder, update, "run-a", seed);
  if (!scenario.killed_before) return;
  // This process's own id: it counts as one of an earlier process.
  for (const AsideKind kind : {AsideKind::kSaving, AsideKind::kRemoving}) {
    const std::filesystem::path hidden = folder / aside_name(kind, 3).text();
    std::filesystem::create_directory(hidden);
    write_text(hidden / "part", "x");
  }
}

void check_values(CampaignResult& result, const std::string& what, const Scenario& scenario,
                  const FoundCheckpoints& found, bool told) {
  for (const std::string& problem : found.problems) result.fail(what + ": damaged: " + problem);
  const auto value = [](const SavedValues& values, std::int64_t update) {
    const auto place = values.find(update);
    return place == values.end() ? 0.0F : place->second;
  };
  for (const std::int64_t update : {2, 3, 4}) {
    const float is = value(found.values, update);
    if (is != value(scenario.before, update) && is != value(scenario.after, update)) {
      result.fail(what + ": found " + text_of(found.values));
    }
  }
  if (!scenario.before.empty() && !found.latest) result.fail(what + ": nothing to go on from");
  if (!told && found.values != scenario.after) result.fail(what + ": no error, found " + text_of(found.values));
}

void check_message(CampaignResult& result, const std::string& what, const std::filesystem::path& folder,
                   const std::string& text, int reason) {
  const bool named = text.find(folder.string()) != std::string::npos &&
                     text.find(std::strerror(reason)) != std::string::npos && text.find('\n') == std::string::npos;
  const bool bytes =
      text.find("; needs about ") != std::string::npos && text.find(" bytes are free") != std::string::npos;
  if (!named || (!bytes && text.find(": cannot be removed: ") == std::string::npos)) {
    result.fail(what + ": the message is '" + text + "'");
  }
}

void check_leftovers(CampaignResult& result, const std::string& what, const std::filesystem::path& folder,
                     const FailingFiles& files, const std::vector<std::string>& from_before) {
  // A removal that fails leaves something; a parent's fsync that fails forbids to remove the older one.
  const std::set<FileOperationKind> may = {FileOperationKind::kRemoveFile, FileOperationKind::kRemoveFolder,
                                           FileOperationKind::kList, FileOperationKind::kFsyncFolder};
  if (may.contains(files.failed)) return;
  for (const std::string& name : hidden_names(folder)) {
    if (std::ranges::find(from_before, name) == from_before.end()) result.fail(what + ": left " + name);
  }
}

/// The next save succeeds, finds everything from before, and clears up.
void check_next_save(CampaignResult& result, const std::string& what, const std::filesystem::path& folder,
                     SavedValues values) {
  constexpr std::int64_t kNext = 9;
  save_small(folder, kNext, "run-a", kNew);
  values[kNext] = kNew;
  const FoundCheckpoints found = found_checkpoints(folder);
  if (found.values != values || !found.problems.empty()) {
    result.fail(what + ": after the next save " + text_of(found.values));
  }
  if (!hidden_names(folder).empty()) result.fail(what + ": the next save left " + hidden_names(folder).front());
}

/// Returns false where the scenario has no operation `at`.
template <typename Files>
bool one_fault(CampaignResult& result, const Scenario& scenario, std::int64_t at, int reason, bool from_then_on) {
  const TemporaryFolder root(Medium::kMemory);
  const std::filesystem::path folder = root.path() / "checkpoints";
  set_up(scenario, folder);
  const std::vector<std::string> from_before = hidden_names(folder);
  Files files(at, reason, from_then_on, scenario.exchange);
  const std::string text = error_text<RunError>([&] { scenario.act(files, folder); });
  if (files.operations <= at) return false;
  const std::string what = std::string(scenario.name) + ", operation " + std::to_string(at) + " (" +
                           name_of(files.failed) + "), " + std::strerror(reason) +
                           (from_then_on ? " from then on" : "");
  const FoundCheckpoints found = found_checkpoints(folder);
  check_values(result, what, scenario, found, !text.empty());
  if (!text.empty()) check_message(result, what, folder, text, reason);
  if (!files.misuse.empty()) result.fail(what + ": " + files.misuse);
  if (!from_then_on) check_leftovers(result, what, folder, files, from_before);
  if (found.problems.empty()) check_next_save(result, what, folder, found.values);
  result.count("faults");
  return true;
}

template <typename Files>
void all_faults(CampaignResult& result, const Scenario& scenario) {
  for (const bool from_then_on : {false, true}) {
    for (const int reason : kReasons) {
      std::int64_t at = 0;
      while (one_fault<Files>(result, scenario, at, reason, from_then_on)) ++at;
      if (!from_then_on && reason == kReasons[0]) result.count(std::string("operations of: ") + scenario.name, at);
    }
  }
}

/// The same for a single file.
void all_faults_of_a_file(CampaignResult& result) {
  for (const int reason : kReasons) {
    for (std::int64_t at = 0;; ++at) {
      const TemporaryFolder root(Medium::kMemory);
      const std::filesystem::path path = root.path() / "file";
      write_file_atomically(path, "old");
      FailingFiles files(at, reason, /*from_then_on=*/false, true);
      const std::string text = error_text<RunError>([&] { write_file_atomically(path, "new", files); });
      if (files.operations <= at) break;
      const std::string what = "one file, operation " + std::to_string(at) + " (" + name_of(files.failed) + ")";
      if (text.find(std::strerror(reason)) == std::string::npos) result.fail(what + ": '" + text + "'");
      if (file_text(path) != "old" && file_text(path) != "new") result.fail(what + ": neither");
      if (!hidden_names(root.path()).empty()) result.fail(what + ": left " + hidden_names(root.path()).front());
      result.count("faults of a single file");
    }
  }
}

int run(int argc, char** argv) {
  const CampaignOptions options = campaign_options(argc, argv, /*budget=*/0);
  CampaignResult result("file_faults", options);
  for (const Scenario& scenario : scenarios()) all_faults<FailingFiles>(result, scenario);
  all_faults_of_a_file(result);

  CampaignResult careless("", options);
  all_faults<CarelessFiles>(careless, scenarios()[1]);
  result.broken_variant("result of fsync not looked at", careless);
  for (const auto& [name, way] : {std::pair("older one removed before the rename", BrokenSave::kRemoveBeforeRename),
                                  std::pair("manifest first, in place", BrokenSave::kManifestFirstInPlace)}) {
    Scenario broken = scenarios()[2];
    broken.act = [way](FileOperations& files, const std::filesystem::path& folder) {
      broken_save(files, folder, 2, kNew, way);
    };
    CampaignResult found("", options);
    all_faults<FailingFiles>(found, broken);
    result.broken_variant(name, found);
  }
  return result.finish();
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) { return samegrad::run(argc, argv); }
