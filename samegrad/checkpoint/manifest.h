// manifest.json, the last file of a save: it says which files belong to a checkpoint, and proves them and itself.
//
// The file is one JSON object, in this order, with two spaces of indentation:
//   "format"          "samegrad checkpoint"
//   "format_version"  1
//   "update"          number of updates done
//   "run_id"          text
//   "facts"           what the saving program says of itself: world size, library versions, dispatch
//   "files"           an array of {"name", "size", "sha256"}: model.safetensors, optimizer.safetensors, state.json,
//                     extra.safetensors (where there are such tensors), rank-0.json, rank-1.json, ... in this order and
//                     nothing else
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

inline constexpr std::int64_t kCheckpointFormatVersion = 1;
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kModelFile = "model.safetensors";
inline constexpr std::string_view kOptimizerFile = "optimizer.safetensors";
inline constexpr std::string_view kStateFile = "state.json";
inline constexpr std::string_view kExtraFile = "extra.safetensors";

/// "rank-3.json".
std::string rank_file_name(std::size_t virtual_rank);

struct ManifestFile {
  std::string name;
  std::int64_t size = 0;
  std::string sha256;
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

/// The file's bytes. Local.
std::string manifest_text(const Manifest& manifest);

/// Reads them back. Throws CheckError naming `file`: the digest does not fit, another format or version, a member
/// missing, repeated or unknown, a file list that is not the one above. Local.
Manifest parse_manifest(std::string_view bytes, const std::string& file);

}  // namespace samegrad
