// In which states a power loss may leave a disk, from the file operations that came before it.
//
// The model: bytes of a file are certain after its fsync; before it all of them may be there, none, their first half,
// or zeros in their place. A name that is made, changed or removed in a folder is certain after that folder's fsync;
// before it any part of these changes may be on the disk, as if each folder were written at its own time, but not a
// change without an earlier one of the same name in the same folder. An exchange or a rename is on the disk whole or
// not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/campaigns/observed_files.h"

namespace samegrad {

/// Path below the root -> bytes of a file; none for a folder.
using DiskTree = std::map<std::filesystem::path, std::optional<std::string>>;

class CrashStates {
 public:
  /// Nothing lies below `root`, a folder that is on the disk.
  explicit CrashStates(std::filesystem::path root);

  /// The next operation, which succeeded. Those above the root are left out.
  void add(const FileOperation& operation);
  std::size_t operations() const { return steps_.size(); }

  /// Shows states after the first `prefix` operations: all, or where there are more than `most`, so many drawn ones,
  /// both ends among them. States may come twice. Returns whether these were all.
  bool visit(std::size_t prefix, std::int64_t most, std::mt19937_64& random,
             const std::function<void(const DiskTree&)>& look) const;

 private:
  using Folder = std::map<std::string, int>;  // name -> node

  struct Step {
    FileOperationKind kind = FileOperationKind::kList;
    int node = 0;       // the folder whose names change, or what is written or fsynced
    int child = 0;      // what gets a name
    std::string name;   // in `node`
    std::string other;  // the second name of a rename or an exchange
    std::string bytes;
  };
  struct Pending {
    std::vector<std::size_t> names;  // steps that change names and may be missing
    std::map<int, std::string> synced;
    std::map<int, std::string> unsynced;
  };

  std::optional<int> find(const std::filesystem::path& path) const;
  static void apply(std::map<int, Folder>& folders, const Step& step);
  Pending pending_at(std::size_t prefix) const;
  bool may_be_there(const Pending& pending, std::size_t index, const std::set<std::size_t>& there) const;
  std::map<int, Folder> folders_with(std::size_t prefix, const Pending& pending,
                                     const std::set<std::size_t>& there) const;
  /// A chooser gives numbers below its argument: all combinations in turn, or drawn.
  DiskTree state(std::size_t prefix, const Pending& pending, const std::function<int(int)>& choose) const;

  std::filesystem::path root_;
  std::map<int, Folder> folders_;  // as the running system sees them; 0 is the root
  int nodes_ = 1;
  std::vector<Step> steps_;
};

}  // namespace samegrad
