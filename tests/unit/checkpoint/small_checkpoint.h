// A checkpoint of a few hundred bytes, and a folder to put it into.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "samegrad/checkpoint/checkpoint.h"

namespace samegrad {

/// Memory (/dev/shm, where there is one) is for tests that save hundreds of times and would wait for a disk.
enum class Medium { kDisk, kMemory };

/// A new empty folder, removed at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(Medium medium = Medium::kDisk);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Content whose values are made from `seed`; its tensors live in it.
struct SmallContent {
  explicit SmallContent(float seed = 1.0F, const std::string& run_id = "run-a");
  SmallContent(const SmallContent&) = delete;
  SmallContent& operator=(const SmallContent&) = delete;

  std::array<float, 6> weight;
  std::array<std::int64_t, 1> counter;
  std::array<float, 6> momentum;
  CheckpointContent content;
};

/// Saves a SmallContent; returns its path.
std::filesystem::path save_small(const std::filesystem::path& checkpoints, std::int64_t update,
                                 const std::string& run_id = "run-a", float seed = 1.0F,
                                 FileOperations& files = real_files());

/// A file system that cannot exchange two names in one step.
class NoExchange : public FileOperations {
 public:
  int exchange(const std::filesystem::path& a, const std::filesystem::path& b) override;
};

std::string file_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, std::string_view text);

/// Puts `text` into a file of the checkpoint and makes the manifest fit it, as an attacker would. `index`: its place in
/// Manifest::files.
void forge(const std::filesystem::path& checkpoint, std::size_t index, const std::string& text);

/// Names in a folder, sorted, hidden ones too.
std::vector<std::string> names_in(const std::filesystem::path& folder);

/// The text of the samegrad::Error that `action` throws; empty where it throws none.
template <typename Error, typename Action>
std::string error_text(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace samegrad
