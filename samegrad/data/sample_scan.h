// Where the samples of a text file stand: one pass over it, in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "samegrad/data/data_file.h"
#include "samegrad/data/text_options.h"

namespace samegrad {

/// One sample as it stands in the file.
struct FoundSample {
  std::string_view bytes;   ///< as in the file
  std::int64_t offset = 0;  ///< of bytes in the file
  std::int64_t line = 0;    ///< where it begins, 1-based
  bool end_token = false;   ///< .txt: an end token follows
};

/// What a scan finds, in the order of the file.
class ScanVisitor {
 public:
  virtual ~ScanVisitor() = default;
  virtual void on_sample(const FoundSample& sample) = 0;
  /// .jsonl: a line of white space.
  virtual void on_blank_line() = 0;
  /// A line that can be no sample or part of one. Its sample is left out.
  virtual void on_bad_line(std::int64_t line, std::string_view reason) = 0;
};

/// The bytes that were read.
struct FileFingerprint {
  std::int64_t bytes = 0;
  std::string sha256;

  bool operator==(const FileFingerprint&) const = default;
};

/// Scans a file. LF and CRLF, a byte order mark and a missing final line end make no difference.
///  - jsonl: a sample is a line that is not blank (its JSON is the visitor's to read).
///  - documents: a sample is a run of lines that are not blank, with LF between them. A bad line takes its document.
///  - stream: the lines with LF between them are cut into pieces of `context` tokens; the last one ends with the end
///    token. A piece in which bad UTF-8 shows is left out.
/// A line or document of more than 8 MiB is bad; a stream may have lines of any length. Throws what the visitor
/// throws, and InputError. Local.
FileFingerprint scan_samples(const DataFile& file, const TextOptions& options, ScanVisitor& visitor);

}  // namespace samegrad
