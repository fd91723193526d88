#include "samegrad/data/ingest_report.h"

#include <algorithm>

#include "samegrad/base/untrusted_json.h"

namespace samegrad {
namespace {

Json notes_to_json(const std::vector<IngestNote>& notes) {
  Json list = Json::array();
  for (const IngestNote& note : notes) {
    list.push_back({{"line", note.line}, {"what", note.what}});
  }
  return list;
}

std::vector<IngestNote> notes_from_json(const Json& list) {
  std::vector<IngestNote> notes;
  for (const Json& note : list) {
    notes.push_back({whole_number(note.at("line")), note.at("what").get<std::string>()});
  }
  return notes;
}

void append_first(std::vector<IngestNote>& first, const std::vector<IngestNote>& next) {
  const std::size_t room = kMostNotes - first.size();
  first.insert(first.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(std::min(room, next.size())));
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void append_notes(std::vector<std::string>& lines, const std::string& prefix, const std::vector<IngestNote>& notes,
                  std::int64_t total) {
  for (const IngestNote& note : notes) {
    lines.push_back("  " + prefix + std::to_string(note.line) + ": " + note.what);
  }
  const std::int64_t more = total - static_cast<std::int64_t>(notes.size());
  if (more > 0) {
    lines.push_back("  and " + std::to_string(more) + " more");
  }
}

}  // namespace

void append_report(IngestReport& report, const IngestReport& next) {
  report.samples += next.samples;
  report.input_tokens += next.input_tokens;
  report.supervised_tokens += next.supervised_tokens;
  report.longest = std::max(report.longest, next.longest);
  report.blank_lines += next.blank_lines;
  report.bad_lines += next.bad_lines;
  report.cut_samples += next.cut_samples;
  report.unsupervised_samples += next.unsupervised_samples;
  report.empty_completions += next.empty_completions;
  report.weighted_samples += next.weighted_samples;
  report.document_samples += next.document_samples;
  append_first(report.first_bad, next.first_bad);
  append_first(report.first_cut, next.first_cut);
  append_first(report.first_unsupervised, next.first_unsupervised);
}

Json to_json(const IngestReport& report) {
  return {{"file", report.file},
          {"samples", report.samples},
          {"input_tokens", report.input_tokens},
          {"supervised_tokens", report.supervised_tokens},
          {"longest", report.longest},
          {"blank_lines", report.blank_lines},
          {"bad_lines", report.bad_lines},
          {"cut_samples", report.cut_samples},
          {"unsupervised_samples", report.unsupervised_samples},
          {"empty_completions", report.empty_completions},
          {"weighted_samples", report.weighted_samples},
          {"document_samples", report.document_samples},
          {"first_bad", notes_to_json(report.first_bad)},
          {"first_cut", notes_to_json(report.first_cut)},
          {"first_unsupervised", notes_to_json(report.first_unsupervised)}};
}

IngestReport ingest_report_from_json(const Json& json) {
  const auto number = [&](const char* name) { return whole_number(json.at(name)); };
  return {.file = json.at("file").get<std::string>(),
          .samples = number("samples"),
          .input_tokens = number("input_tokens"),
          .supervised_tokens = number("supervised_tokens"),
          .longest = number("longest"),
          .blank_lines = number("blank_lines"),
          .bad_lines = number("bad_lines"),
          .cut_samples = number("cut_samples"),
          .unsupervised_samples = number("unsupervised_samples"),
          .empty_completions = number("empty_completions"),
          .weighted_samples = number("weighted_samples"),
          .document_samples = number("document_samples"),
          .first_bad = notes_from_json(json.at("first_bad")),
          .first_cut = notes_from_json(json.at("first_cut")),
          .first_unsupervised = notes_from_json(json.at("first_unsupervised"))};
}

std::vector<std::string> ingest_lines(const IngestReport& report) {
  const std::string file = report.file + ": ";
  std::vector<std::string> lines = {file + counted(report.samples, "sample") + ", " +
                                    counted(report.input_tokens, "input token") + ", " +
                                    std::to_string(report.supervised_tokens) + " supervised; the longest sample has " +
                                    counted(report.longest, "token")};
  if (report.weighted_samples > 0) {
    lines.front() += "; " + counted(report.weighted_samples, "sample") + " with a weight, the others weigh 1";
  }
  if (report.blank_lines > 0) {
    lines.push_back(file + counted(report.blank_lines, "blank line") + " skipped");
  }
  if (report.bad_lines > 0) {
    lines.push_back(file + counted(report.bad_lines, "bad line") + " skipped (data.skip_bad_lines)");
    append_notes(lines, report.file + ":", report.first_bad, report.bad_lines);
  }
  if (report.cut_samples > 0) {
    lines.push_back(file + counted(report.cut_samples, "sample") + " cut to the context");
    append_notes(lines, "line ", report.first_cut, report.cut_samples);
  }
  if (report.unsupervised_samples > 0) {
    lines.push_back(file + counted(report.unsupervised_samples, "sample") +
                    " without supervised tokens (in the plan with a count of 0)");
    append_notes(lines, "line ", report.first_unsupervised, report.unsupervised_samples);
  }
  if (report.empty_completions > 0) {
    lines.push_back(file + counted(report.empty_completions, "empty completion") + " (they supervise nothing)");
  }
  return lines;
}

}  // namespace samegrad
