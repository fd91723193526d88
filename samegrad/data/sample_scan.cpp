#include "samegrad/data/sample_scan.h"

#include "samegrad/data/file_chunks.h"
#include "samegrad/data/line_reader.h"
#include "samegrad/data/stream_cutter.h"
#include "samegrad/data/utf8.h"

namespace samegrad {
namespace {

const std::string& too_long_reason() {
  static const std::string kReason = "longer than " + std::to_string(kLongestLine >> 20) + " MiB";
  return kReason;
}

void scan_lines(FileChunks& chunks, ScanVisitor& visitor) {
  LineReader lines(chunks);
  Line line;
  while (lines.next(line)) {
    if (line.too_long) {
      visitor.on_bad_line(line.number, "the line is " + too_long_reason());
    } else if (is_blank(line.text)) {
      visitor.on_blank_line();
    } else {
      visitor.on_sample({.bytes = line.text, .offset = line.offset, .line = line.number});
    }
  }
}

/// Collects the lines of one document.
class DocumentScan {
 public:
  explicit DocumentScan(ScanVisitor& visitor) : visitor_(visitor) {}

  void add(const Line& line) {
    if (bad_) {
      return;
    }
    if (line.too_long) {
      refuse(line.number, "the line is " + too_long_reason());
    } else if (!is_valid_utf8(line.text)) {
      refuse(line.number, "not valid UTF-8");
    } else if (bytes_.empty()) {
      offset_ = line.offset;
      first_line_ = line.number;
      bytes_ = line.text;
    } else {
      // Between two lines stand one or two bytes: the document's bytes stay those of the file.
      const std::int64_t gap = line.offset - offset_ - static_cast<std::int64_t>(bytes_.size());
      bytes_ += gap == 1 ? "\n" : "\r\n";
      bytes_ += line.text;
      if (static_cast<std::int64_t>(bytes_.size()) > kLongestLine) {
        refuse(first_line_,
               "the document is " + too_long_reason() + "; data.txt=stream reads files without blank lines");
      }
    }
  }

  void end() {
    if (!bad_ && !bytes_.empty()) {
      visitor_.on_sample({.bytes = bytes_, .offset = offset_, .line = first_line_, .end_token = true});
    }
    bytes_.clear();
    bad_ = false;
  }

 private:
  void refuse(std::int64_t line, const std::string& reason) {
    bad_ = true;
    bytes_.clear();
    visitor_.on_bad_line(line, reason);
  }

  ScanVisitor& visitor_;
  std::string bytes_;
  std::int64_t offset_ = 0;
  std::int64_t first_line_ = 0;
  bool bad_ = false;
};

void scan_documents(FileChunks& chunks, ScanVisitor& visitor) {
  LineReader lines(chunks);
  DocumentScan document(visitor);
  Line line;
  while (lines.next(line)) {
    if (!line.too_long && is_blank(line.text)) {
      document.end();
    } else {
      document.add(line);
    }
  }
  document.end();
}

void scan_stream(FileChunks& chunks, std::int64_t context, ScanVisitor& visitor) {
  StreamCutter cutter(context, visitor);
  for (std::string_view chunk = chunks.next(); !chunk.empty(); chunk = chunks.next()) {
    cutter.add(chunk, chunks.offset());
  }
  cutter.end();
}

}  // namespace

FileFingerprint scan_samples(const DataFile& file, const TextOptions& options, ScanVisitor& visitor) {
  FileChunks chunks(file);
  switch (options.format) {
    case TextFormat::kJsonl:
      scan_lines(chunks, visitor);
      break;
    case TextFormat::kDocuments:
      scan_documents(chunks, visitor);
      break;
    case TextFormat::kStream:
      scan_stream(chunks, options.context, visitor);
      break;
  }
  return {.bytes = chunks.bytes(), .sha256 = chunks.sha256()};
}

}  // namespace samegrad
