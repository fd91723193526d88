// Samples as they stand in a text file, gathered in its order, and what an index says of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/data/ingest_report.h"
#include "samegrad/data/sample_index.h"
#include "samegrad/data/sample_scan.h"
#include "samegrad/data/text_options.h"

namespace samegrad {

/// What was read of samples that follow each other in a file.
struct ReadBatch {
  std::vector<IndexRecord> records;
  IngestReport report;
  bool any_weight = false;  ///< whether a sample has supervised tokens and a weight above 0
};

class SampleBatch {
 public:
  void add_sample(const FoundSample& sample);
  void add_bad_line(std::int64_t line, std::string_view reason);

  std::size_t bytes() const { return bytes_.size(); }
  std::size_t size() const { return found_.size(); }

  /// Tokenizes and counts all that was added, in that order. Local.
  ReadBatch read(const TextOptions& options) const;

 private:
  struct Found {
    std::int64_t offset = 0;  // in the file
    std::int64_t line = 0;
    std::size_t begin = 0;  // in bytes_
    std::size_t length = 0;
    bool end_token = false;
    std::string bad = {};
  };

  std::string bytes_;
  std::vector<Found> found_;
};

}  // namespace samegrad
