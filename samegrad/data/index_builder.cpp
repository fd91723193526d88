#include "samegrad/data/index_builder.h"

#include <algorithm>
#include <span>
#include <string>

#include "samegrad/base/allowed_cores.h"
#include "samegrad/base/error.h"
#include "samegrad/data/batch_readers.h"
#include "samegrad/data/sample_index.h"
#include "samegrad/kernels/xxh3.h"

namespace samegrad {
namespace {

/// Writes bytes and hashes them.
class DigestedOutput {
 public:
  explicit DigestedOutput(PendingFile& file) : file_(file) {}

  void write(std::string_view bytes) {
    digest_.update(bytes);
    file_.write(bytes);
  }
  template <typename T>
  void write_values(std::span<const T> values) {
    write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void write_digest() { file_.write(digest_.hex()); }

 private:
  PendingFile& file_;
  Xxh3 digest_;
};

void refuse_bad_lines(const IngestReport& found, const std::string& file) {
  if (found.bad_lines == 0) return;
  const IngestNote& first = found.first_bad.front();
  throw InputError("data", file + ":" + std::to_string(first.line) + ": " + first.what +
                               "; correct the line, or set data.skip_bad_lines=true to leave it out");
}

void refuse_nothing_to_learn(const IngestReport& report, bool any_weight) {
  const std::string skipped =
      report.bad_lines > 0
          ? " (" + std::to_string(report.bad_lines) + " bad lines skipped; first: " + report.file + ":" +
                std::to_string(report.first_bad.front().line) + ": " + report.first_bad.front().what + ")"
          : "";
  if (report.samples == 0) {
    throw InputError("data", report.file + ": 0 samples" + skipped + "; at least one is needed");
  }
  if (report.supervised_tokens == 0) {
    throw InputError("data", report.file + ": 0 supervised tokens in " + std::to_string(report.samples) + " samples" +
                                 skipped + "; the first: line " +
                                 std::to_string(report.first_unsupervised.front().line) + ": " +
                                 report.first_unsupervised.front().what + "; at least one is needed");
  }
  if (!any_weight) {
    throw InputError("data", report.file + ": every sample with supervised tokens has weight 0" + skipped +
                                 "; at least one weight above 0 is needed");
  }
}

}  // namespace

std::size_t index_threads() { return static_cast<std::size_t>(std::min(allowed_cores(), 8)); }

BuiltIndex build_sample_index(const std::filesystem::path& data, const std::filesystem::path& index,
                              const TextOptions& options, std::size_t threads) {
  const DataFile file(data);
  BuiltIndex built;
  built.file = std::make_unique<PendingFile>(index);
  built.report.file = data.string();
  DigestedOutput out(*built.file);
  out.write(kIndexMagic);
  bool any_weight = false;
  const auto add = [&](const ReadBatch& read) {
    if (!options.skip_bad_lines) refuse_bad_lines(read.report, built.report.file);
    out.write_values(std::span(read.records));
    append_report(built.report, read.report);
    any_weight = any_weight || read.any_weight;
  };
  BatchReaders readers(options, add, threads);
  built.data_file = scan_samples(file, options, readers);
  readers.finish();
  built.report.blank_lines = readers.blank_lines();
  refuse_nothing_to_learn(built.report, any_weight);

  const Json json = {{"format", kIndexFormat},
                     {"options", to_json(options)},
                     {"file", {{"bytes", built.data_file.bytes}, {"sha256", built.data_file.sha256}}},
                     {"report", to_json(built.report)}};
  // A file's name may be no UTF-8; in the report it is for a person to read.
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  out.write(text);
  const std::uint64_t length = text.size();
  out.write_values(std::span(&length, 1));
  out.write_digest();
  built.file->finish();
  return built;
}

}  // namespace samegrad
