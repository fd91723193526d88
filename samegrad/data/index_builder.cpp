#include "samegrad/data/index_builder.h"

#include <algorithm>
#include <string>
#include <thread>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/data/batch_readers.h"
#include "samegrad/data/sample_index.h"

namespace samegrad {
namespace {

/// Writes bytes and hashes them, many at a time: a record alone is less than one step of the hash.
class DigestedOutput {
 public:
  explicit DigestedOutput(PendingFile& file) : file_(file) {}

  void write(std::string_view bytes) {
    gathered_ += bytes;
    if (gathered_.size() >= kGathered) flush();
  }
  template <typename T>
  void write_value(const T& value) {
    write({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  void write_digest() {
    flush();
    file_.write(digest_.hex());
  }

 private:
  static constexpr std::size_t kGathered = std::size_t{1} << 16;

  void flush() {
    digest_.update(gathered_);
    file_.write(gathered_);
    gathered_.clear();
  }

  std::string gathered_;
  PendingFile& file_;
  Sha256 digest_;
};

/// Writes what was read of samples into the index and counts it, in the order of the file.
class IndexBuilder {
 public:
  IndexBuilder(const TextOptions& options, IngestReport& report, DigestedOutput& out)
      : options_(options), report_(report), out_(out) {}

  void add(const ReadSample& read) {
    if (!read.bad.empty()) {
      refuse(read.record.line, read.bad);
      return;
    }
    out_.write_value(read.record);
    count(read);
  }

  /// Whether a sample has supervised tokens and a weight above 0.
  bool any_weight() const { return any_weight_; }

 private:
  void refuse(std::int64_t line, const std::string& reason) {
    if (!options_.skip_bad_lines) {
      throw InputError("data", report_.file + ":" + std::to_string(line) + ": " + reason +
                                   "; correct the line, or set data.skip_bad_lines=true to leave it out");
    }
    note(report_.bad_lines, report_.first_bad, line, [&] { return reason; });
  }

  void count(const ReadSample& read) {
    const IndexRecord& record = read.record;
    const TextCounts& counts = read.counts;
    ++report_.samples;
    report_.input_tokens += record.input_tokens;
    report_.supervised_tokens += record.supervised_tokens;
    report_.longest = std::max(report_.longest, counts.tokens_before_cut);
    report_.empty_completions += read.empty_completions;
    report_.weighted_samples += read.has_weight ? 1 : 0;
    report_.document_samples += record.document != 0 ? 1 : 0;
    any_weight_ = any_weight_ || (record.supervised_tokens > 0 && record.weight > 0.0);
    const bool cut = counts.tokens_before_cut > options_.context;
    if (cut) {
      note(report_.cut_samples, report_.first_cut, record.line, [&] {
        return std::to_string(record.supervised_tokens) + " of " + std::to_string(counts.supervised_before_cut) +
               " supervised tokens survive max-len " + std::to_string(options_.context);
      });
    }
    if (record.supervised_tokens == 0) {
      const char* const reason = counts.tokens_before_cut < 2       ? "a single token, nothing to predict"
                                 : counts.supervised_before_cut > 0 ? "the cut to the context leaves none"
                                 : read.empty_completions > 0       ? "the completion is empty"
                                                                    : "no label asks for one";
      note(report_.unsupervised_samples, report_.first_unsupervised, record.line, [&] { return std::string(reason); });
    }
  }

  /// `what` is asked only where it is kept: there may be millions.
  template <typename What>
  static void note(std::int64_t& total, std::vector<IngestNote>& first, std::int64_t line, const What& what) {
    ++total;
    if (first.size() < kMostNotes) {
      first.push_back({line, what()});
    }
  }

  const TextOptions& options_;
  IngestReport& report_;
  DigestedOutput& out_;
  bool any_weight_ = false;
};

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

std::size_t index_threads() { return std::clamp(std::thread::hardware_concurrency(), 1U, 8U); }

BuiltIndex build_sample_index(const std::filesystem::path& data, const std::filesystem::path& index,
                              const TextOptions& options, std::size_t threads) {
  const DataFile file(data);
  BuiltIndex built;
  built.file = std::make_unique<PendingFile>(index);
  built.report.file = data.string();
  DigestedOutput out(*built.file);
  out.write(kIndexMagic);
  IndexBuilder builder(options, built.report, out);
  BatchReaders readers(
      options, [&](const ReadSample& read) { builder.add(read); }, threads);
  built.data_file = scan_samples(file, options, readers);
  readers.finish();
  built.report.blank_lines = readers.blank_lines();
  refuse_nothing_to_learn(built.report, builder.any_weight());

  const Json json = {{"format", kIndexFormat},
                     {"options", to_json(options)},
                     {"file", {{"bytes", built.data_file.bytes}, {"sha256", built.data_file.sha256}}},
                     {"report", to_json(built.report)}};
  // A file's name may be no UTF-8; in the report it is for a person to read.
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  out.write(text);
  out.write_value(std::uint64_t{text.size()});
  out.write_digest();
  built.file->finish();
  return built;
}

}  // namespace samegrad
