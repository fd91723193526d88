// The index of a text file: where each sample stands and what it counts, so that a run needs neither to read the file
// before it starts nor to hold it in memory.
//
// Format (little-endian): 8 bytes "SGINDEX3"; one IndexRecord a sample; a JSON object {"format", "options", "file":
// {"bytes","sha256"}, "report"}; its length in 8 bytes; the XXH3-128 of all bytes before, 32 hexadecimal digits: it
// finds damage, and every start computes it, of an index that may be as large as its file. (Format 2 had SHA-256
// there.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "samegrad/base/json.h"
#include "samegrad/base/mapped_file.h"
#include "samegrad/data/ingest_report.h"
#include "samegrad/data/sample_scan.h"

namespace samegrad {

inline constexpr std::string_view kIndexMagic = "SGINDEX3";
inline constexpr std::int64_t kIndexFormat = 3;

struct IndexRecord {
  std::int64_t offset = 0;  ///< of the sample's bytes in the data file
  std::int64_t line = 0;    ///< where it begins, 1-based
  std::uint32_t length = 0;
  std::uint32_t input_tokens = 0;
  std::uint32_t supervised_tokens = 0;
  std::uint32_t end_token = 0;  ///< 1: an end token follows (.txt)
  double weight = 1.0;          ///< Sample::weight
  std::uint64_t document = 0;   ///< Sample::document

  bool operator==(const IndexRecord&) const = default;
};
static_assert(sizeof(IndexRecord) == 48);

class SampleIndex {
 public:
  /// Maps the index and checks its digest. Throws InputError naming the file when it is missing or damaged. Local.
  explicit SampleIndex(const std::filesystem::path& path);

  std::int64_t size() const { return size_; }
  IndexRecord record(std::int64_t id) const;
  /// The options that it was built with, as JSON.
  const Json& options() const { return options_; }
  /// The data file that it was built from.
  const FileFingerprint& data_file() const { return data_file_; }
  const IngestReport& report() const { return report_; }

 private:
  MappedFile file_;
  std::int64_t size_ = 0;
  Json options_;
  FileFingerprint data_file_;
  IngestReport report_;
};

}  // namespace samegrad
