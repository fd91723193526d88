// The samples of a text file, read from it one by one.
#pragma once

#include <filesystem>

#include "samegrad/data/data_file.h"
#include "samegrad/data/sample_index.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/data/text_options.h"

namespace samegrad {

class TextSource : public SampleSource {
 public:
  /// Opens a data file with its index; writes nothing. Throws InputError when one of them is missing or the index is
  /// damaged, was built with other options, or from a file of another size. Local.
  TextSource(const std::filesystem::path& data, const std::filesystem::path& index, const TextOptions& options);

  std::int64_t size() const override { return index_.size(); }
  /// Throws InputError "FILE:LINE: ..." when the file no longer holds the sample that was counted, or was written to
  /// since it was opened.
  Sample sample(std::int64_t id) const override;
  std::int64_t supervised_tokens(std::int64_t id) const override { return index_.record(id).supervised_tokens; }
  std::int64_t input_tokens(std::int64_t id) const override { return index_.record(id).input_tokens; }
  bool weighted() const override { return index_.report().weighted_samples > 0; }
  double weight(std::int64_t id) const override { return index_.record(id).weight; }
  std::uint64_t document(std::int64_t id) const override { return index_.record(id).document; }

  /// Under the name by which the file was opened now.
  const IngestReport& report() const { return report_; }
  /// The data file at the time when it was indexed.
  const FileFingerprint& data_file() const { return index_.data_file(); }

 private:
  DataFile file_;
  FileFacts opened_;
  SampleIndex index_;
  TextOptions options_;
  IngestReport report_;
};

}  // namespace samegrad
