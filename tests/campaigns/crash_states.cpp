#include "tests/campaigns/crash_states.h"

#include <algorithm>
#include <utility>

#include "samegrad/base/check.h"

namespace samegrad {
namespace {

using Kind = FileOperationKind;

bool changes_names(Kind kind) {
  return kind == Kind::kMakeFolder || kind == Kind::kOpenNew || kind == Kind::kRename || kind == Kind::kExchange ||
         kind == Kind::kRemoveFile || kind == Kind::kRemoveFolder;
}

/// Gives every combination of choices once: call start() before each.
class InTurn {
 public:
  void start() { place_ = 0; }
  int choose(int among) {
    if (place_ == chosen_.size()) chosen_.emplace_back(0, among);
    return chosen_[place_++].first;
  }
  /// To the next combination; false after the last.
  bool next() {
    while (!chosen_.empty() && chosen_.back().first + 1 == chosen_.back().second) chosen_.pop_back();
    if (chosen_.empty()) return false;
    ++chosen_.back().first;
    return true;
  }

 private:
  std::vector<std::pair<int, int>> chosen_;
  std::size_t place_ = 0;
};

}  // namespace

CrashStates::CrashStates(std::filesystem::path root) : root_(std::move(root)), folders_{{0, {}}} {}

std::optional<int> CrashStates::find(const std::filesystem::path& path) const {
  const std::filesystem::path below = path.lexically_relative(root_);
  if (below.empty() || *below.begin() == "..") return std::nullopt;
  int node = 0;
  for (const std::filesystem::path& part : below) {
    if (part == ".") continue;
    const auto folder = folders_.find(node);
    if (folder == folders_.end() || !folder->second.contains(part.string())) return std::nullopt;
    node = folder->second.at(part.string());
  }
  return node;
}

void CrashStates::add(const FileOperation& operation) {
  Step step{.kind = operation.kind, .node = 0, .child = 0, .name = {}, .other = {}, .bytes = {}};
  const std::optional<int> parent = find(operation.path.parent_path());
  if (changes_names(operation.kind)) {
    SAMEGRAD_CHECK_OP(parent.has_value(), ==, true);
    step.node = *parent;
    step.name = operation.path.filename().string();
    step.other = operation.other.filename().string();
    if (!operation.other.empty()) SAMEGRAD_CHECK_OP(operation.other.parent_path(), ==, operation.path.parent_path());
    if (operation.kind == Kind::kMakeFolder || operation.kind == Kind::kOpenNew) {
      step.child = nodes_++;
      if (operation.kind == Kind::kMakeFolder) folders_[step.child] = {};
    }
    apply(folders_, step);
  } else if (operation.kind == Kind::kWrite || operation.kind == Kind::kFsync || operation.kind == Kind::kFsyncFolder) {
    const std::optional<int> node = find(operation.path);
    if (!node) return;  // above the root
    step.node = *node;
    step.bytes = operation.bytes;
  } else {
    return;
  }
  steps_.push_back(std::move(step));
}

void CrashStates::apply(std::map<int, Folder>& folders, const Step& step) {
  Folder& folder = folders[step.node];
  switch (step.kind) {
    case Kind::kMakeFolder:
    case Kind::kOpenNew:
      folder[step.name] = step.child;
      break;
    case Kind::kRename: {
      const int moved = folder.at(step.name);
      folder.erase(step.name);
      folder[step.other] = moved;
      break;
    }
    case Kind::kExchange:
      std::swap(folder.at(step.name), folder.at(step.other));
      break;
    default:
      folder.erase(step.name);
  }
}

CrashStates::Pending CrashStates::pending_at(std::size_t prefix) const {
  Pending pending;
  for (std::size_t i = 0; i < prefix; ++i) {
    const Step& step = steps_[i];
    if (changes_names(step.kind)) {
      pending.names.push_back(i);
      if (step.kind == Kind::kOpenNew) pending.synced[step.child] = "";
    } else if (step.kind == Kind::kFsyncFolder) {
      std::erase_if(pending.names, [&](std::size_t j) { return steps_[j].node == step.node; });
    } else if (step.kind == Kind::kWrite) {
      pending.unsynced[step.node] += step.bytes;
    } else {
      pending.synced[step.node] += std::exchange(pending.unsynced[step.node], {});
    }
  }
  std::erase_if(pending.unsynced, [](const auto& file) { return file.second.empty(); });
  return pending;
}

bool CrashStates::may_be_there(const Pending& pending, std::size_t index, const std::set<std::size_t>& there) const {
  const Step& step = steps_[index];
  const auto shares_a_name = [&](const Step& other) {
    return other.node == step.node &&
           (other.name == step.name || other.other == step.name ||
            (!step.other.empty() && (other.name == step.other || other.other == step.other)));
  };
  return std::ranges::none_of(pending.names, [&](std::size_t earlier) {
    return earlier < index && shares_a_name(steps_[earlier]) && !there.contains(earlier);
  });
}

std::map<int, CrashStates::Folder> CrashStates::folders_with(std::size_t prefix, const Pending& pending,
                                                             const std::set<std::size_t>& there) const {
  std::map<int, Folder> folders = {{0, {}}};
  for (std::size_t i = 0; i < prefix; ++i) {
    if (!changes_names(steps_[i].kind)) continue;
    if (steps_[i].kind == Kind::kMakeFolder) folders[steps_[i].child];
    const bool certain = std::ranges::find(pending.names, i) == pending.names.end();
    if (certain || there.contains(i)) apply(folders, steps_[i]);
  }
  return folders;
}

DiskTree CrashStates::state(std::size_t prefix, const Pending& pending, const std::function<int(int)>& choose) const {
  std::set<std::size_t> there;
  for (const std::size_t index : pending.names) {
    if (may_be_there(pending, index, there) && choose(2) == 1) there.insert(index);
  }
  const std::map<int, Folder> folders = folders_with(prefix, pending, there);
  DiskTree tree;
  const std::function<void(int, const std::filesystem::path&)> descend = [&](int node,
                                                                             const std::filesystem::path& path) {
    for (const auto& [name, child] : folders.at(node)) {
      if (folders.contains(child)) {
        tree[path / name] = std::nullopt;
        descend(child, path / name);
        continue;
      }
      std::string bytes = pending.synced.at(child);
      if (const auto found = pending.unsynced.find(child); found != pending.unsynced.end()) {
        const std::string& unsynced = found->second;
        switch (choose(4)) {
          case 0:
            bytes += unsynced;
            break;
          case 1:
            bytes += unsynced.substr(0, unsynced.size() / 2);
            break;
          case 2:
            bytes += std::string(unsynced.size(), '\0');
            break;
          default:
            break;
        }
      }
      tree[path / name] = bytes;
    }
  };
  descend(0, {});
  return tree;
}

bool CrashStates::visit(std::size_t prefix, std::int64_t most, std::mt19937_64& random,
                        const std::function<void(const DiskTree&)>& look) const {
  const Pending pending = pending_at(prefix);
  InTurn in_turn;
  bool more = true;
  for (std::int64_t shown = 0; more && shown < most; ++shown) {
    in_turn.start();
    look(state(prefix, pending, [&](int among) { return in_turn.choose(among); }));
    more = in_turn.next();
  }
  if (!more) return true;
  look(state(prefix, pending, [](int among) { return among - 1; }));
  for (std::int64_t drawn = 0; drawn < most; ++drawn) {
    look(state(prefix, pending, [&](int among) { return static_cast<int>(random() % static_cast<unsigned>(among)); }));
  }
  return false;
}

}  // namespace samegrad
