// Samples as they stand in a text file, gathered in its order, and what is read of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/data/sample_index.h"
#include "samegrad/data/sample_scan.h"
#include "samegrad/data/text_options.h"
#include "samegrad/data/text_sample.h"

namespace samegrad {

/// One sample that was read, or a line that is none.
struct ReadSample {
  IndexRecord record;  ///< of a bad line only its number
  TextCounts counts;
  std::int64_t empty_completions = 0;
  bool has_weight = false;  ///< of its own
  std::string bad = {};     ///< why it is no sample; empty: it is one
};

class SampleBatch {
 public:
  void add_sample(const FoundSample& sample);
  void add_bad_line(std::int64_t line, std::string_view reason);

  std::size_t bytes() const { return bytes_.size(); }
  std::size_t size() const { return found_.size(); }

  /// Tokenizes and counts all that was added. Local.
  void read(const TextOptions& options);
  /// Then: one for each that was added, in that order.
  const std::vector<ReadSample>& samples() const { return samples_; }
  /// As new, but for the memory that it has.
  void clear();

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
  std::vector<ReadSample> samples_;
};

}  // namespace samegrad
