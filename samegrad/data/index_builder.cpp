#include "samegrad/data/index_builder.h"

#include <algorithm>
#include <string>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/data/bad_line.h"
#include "samegrad/data/sample_index.h"
#include "samegrad/data/text_sample.h"

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
  void write_value(const T& value) {
    write({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  void write_digest() { file_.write(digest_.hex()); }

 private:
  PendingFile& file_;
  Sha256 digest_;
};

class IndexBuilder : public ScanVisitor {
 public:
  IndexBuilder(const TextOptions& options, IngestReport& report, DigestedOutput& out)
      : options_(options), report_(report), out_(out) {}

  void on_sample(const FoundSample& found) override {
    TokenSequence tokens;
    try {
      tokens = text_tokens(parser_, options_, found.bytes, found.end_token);
    } catch (const BadLine& error) {
      on_bad_line(found.line, error.what());
      return;
    }
    const TextCounts counts = count_text(tokens, options_.context);
    const IndexRecord record{.offset = found.offset,
                             .line = found.line,
                             .length = static_cast<std::uint32_t>(found.bytes.size()),
                             .input_tokens = static_cast<std::uint32_t>(counts.input_tokens),
                             .supervised_tokens = static_cast<std::uint32_t>(counts.supervised_tokens),
                             .end_token = found.end_token ? 1U : 0U,
                             .weight = tokens.weight.value_or(1.0),
                             .document = tokens.document};
    out_.write_value(record);
    count(tokens, counts, record);
  }

  /// Whether a sample has supervised tokens and a weight above 0.
  bool any_weight() const { return any_weight_; }

  void on_blank_line() override { ++report_.blank_lines; }

  void on_bad_line(std::int64_t line, std::string_view reason) override {
    if (!options_.skip_bad_lines) {
      throw InputError("data", report_.file + ":" + std::to_string(line) + ": " + std::string(reason) +
                                   "; correct the line, or set data.skip_bad_lines=true to leave it out");
    }
    note(report_.bad_lines, report_.first_bad, line, [&] { return std::string(reason); });
  }

 private:
  void count(const TokenSequence& tokens, const TextCounts& counts, const IndexRecord& record) {
    ++report_.samples;
    report_.input_tokens += record.input_tokens;
    report_.supervised_tokens += record.supervised_tokens;
    report_.longest = std::max(report_.longest, counts.tokens_before_cut);
    report_.empty_completions += tokens.empty_completions;
    report_.weighted_samples += tokens.weight ? 1 : 0;
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
                                 : tokens.empty_completions > 0     ? "the completion is empty"
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
  JsonLine parser_;
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

BuiltIndex build_sample_index(const std::filesystem::path& data, const std::filesystem::path& index,
                              const TextOptions& options) {
  const DataFile file(data);
  BuiltIndex built;
  built.file = std::make_unique<PendingFile>(index);
  built.report.file = data.string();
  DigestedOutput out(*built.file);
  out.write(kIndexMagic);
  IndexBuilder builder(options, built.report, out);
  built.data_file = scan_samples(file, options, builder);
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
