// Reads a text file once and writes its index.
#pragma once

#include <filesystem>
#include <memory>

#include "samegrad/data/ingest_report.h"
#include "samegrad/data/pending_file.h"
#include "samegrad/data/sample_scan.h"
#include "samegrad/data/text_options.h"

namespace samegrad {

/// An index that is written, but not yet in its place: file->commit() puts it there.
struct BuiltIndex {
  std::unique_ptr<PendingFile> file;
  IngestReport report;
  FileFingerprint data_file;
};

/// As many threads as read a text file: one for each core, few enough that the one that scans and hashes can feed them.
std::size_t index_threads();

/// Indexes `data` in one pass and bounded memory; the index is the same for every number of `threads` (>= 1). Throws
/// InputError: the file cannot be read (bad lines just before that place may go untold), "FILE:LINE: reason" for the
/// first bad line unless options.skip_bad_lines, no sample at all, no supervised token at all. Local.
BuiltIndex build_sample_index(const std::filesystem::path& data, const std::filesystem::path& index,
                              const TextOptions& options, std::size_t threads = index_threads());

}  // namespace samegrad
