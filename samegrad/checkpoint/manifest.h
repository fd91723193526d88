// manifest.json, the last file of a save: it says which files belong to a checkpoint, and proves them and itself.
//
// The file is one JSON object, in this order, with two spaces of indentation:
//   "format"          "samegrad checkpoint"
//   "format_version"  2; 1 is read too: it has no "tensors"
//   "update"          number of updates done
//   "run_id"          text
//   "facts"           what the saving program says of itself: world size, library versions, dispatch
//   "files"           an array of {"name", "size", "sha256"}: model.safetensors, optimizer.safetensors, state.json,
//                     extra.safetensors (where there are such tensors), rank-0.json, rank-1.json, ... in this order and
//                     nothing else. A file of tensors has "tensors" besides: an array of {"name", "size", "xxh3"},
//                     whose bytes end the file in that order. It says which tensor a damage is in, where "sha256" says
//                     that there is one; left out where a checkpoint has more than 100,000 tensors
//   "sha256"          64 lower-case hexadecimal digits: the SHA-256 of every byte of the file before the first of them,
//                     that is up to and including the quote that opens them
// After the digits come exactly the four bytes `"`, newline, `}`, newline. So every bit of the file is held: the part
// before by the digest, the digits by comparison, the end by being fixed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/json.h"

namespace samegrad {

inline constexpr std::int64_t kCheckpointFormatVersion = 2;
inline constexpr std::int64_t kOldestCheckpointFormatVersion = 1;
/// A manifest that lists more could not be read: JSON from anybody has a million values at most.
inline constexpr std::size_t kMostListedTensors = 100'000;
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kModelFile = "model.safetensors";
inline constexpr std::string_view kOptimizerFile = "optimizer.safetensors";
inline constexpr std::string_view kStateFile = "state.json";
inline constexpr std::string_view kExtraFile = "extra.safetensors";

/// "rank-3.json".
std::string rank_file_name(std::size_t virtual_rank);

/// Whether a file of that name may be a checkpoint's: one of those above, the manifest included. Local.
bool is_checkpoint_file_name(std::string_view name);

struct ManifestTensor {
  std::string name;
  std::int64_t size = 0;  ///< bytes
  std::string xxh3;
};

struct ManifestFile {
  std::string name;
  std::int64_t size = 0;
  std::string sha256;
  std::vector<ManifestTensor> tensors = {};  ///< in the order of their bytes, the file's last
};

struct Manifest {
  std::int64_t update = 0;
  std::string run_id;
  Json facts;
  std::vector<ManifestFile> files;

  bool has_extra_file() const { return files.size() > 3 && files[3].name == kExtraFile; }
  /// Where in `files` rank-0.json is.
  std::size_t first_rank_file() const { return has_extra_file() ? 4 : 3; }
  /// Number of rank files.
  std::size_t virtual_ranks() const { return files.size() - first_rank_file(); }
};

/// Where in `bytes`, which is not what `file` lists, the damage is: "tensor 'a' (and 2 more of 9)", "its header"; empty
/// where that cannot be known. Local.
std::string damaged_place(const ManifestFile& file, std::string_view bytes);

/// The file's bytes. Local.
std::string manifest_text(const Manifest& manifest);

/// Reads them back. Throws CheckError naming `file`: the digest does not fit, another format or version, a member
/// missing, repeated or unknown, a file list that is not the one above. Local.
Manifest parse_manifest(std::string_view bytes, const std::string& file);

}  // namespace samegrad
