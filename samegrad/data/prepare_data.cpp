#include "samegrad/data/prepare_data.h"

#include <algorithm>
#include <string>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/mapped_file.h"
#include "samegrad/data/lesson_data.h"
#include "samegrad/data/lesson_source.h"
#include "samegrad/data/text_indexing.h"
#include "samegrad/data/text_source.h"

namespace samegrad {
namespace {

/// Files that are finished beside their places; all appear by commit(), none before.
class PendingFiles {
 public:
  /// Plans to write `bytes` to `path` unless the file holds them already.
  void replace(const std::filesystem::path& path, std::string_view bytes) {
    if (std::filesystem::is_regular_file(path) && MappedFile(path, "data").bytes() == bytes) {
      return;
    }
    auto file = std::make_unique<PendingFile>(path);
    file->write(bytes);
    file->finish();
    add(path, std::move(file));
  }

  void add(const std::filesystem::path& path, std::unique_ptr<PendingFile> finished) {
    files_.emplace_back(path, std::move(finished));
  }

  /// Where the bytes of `path` lie until commit().
  std::filesystem::path now_at(const std::filesystem::path& path) const {
    const auto found =
        std::ranges::find(files_, path, &std::pair<std::filesystem::path, std::unique_ptr<PendingFile>>::first);
    return found == files_.end() ? path : found->second->temporary();
  }

  std::vector<std::filesystem::path> commit() {
    std::vector<std::filesystem::path> written;
    for (const auto& [path, file] : files_) {
      file->commit();
      written.push_back(path);
    }
    return written;
  }

 private:
  std::vector<std::pair<std::filesystem::path, std::unique_ptr<PendingFile>>> files_;
};

/// The data files of task text by split, those that the config names.
std::vector<std::pair<std::string, std::filesystem::path>> text_files(const DataConfig& config) {
  std::vector<std::pair<std::string, std::filesystem::path>> files = {{"train", config.train}};
  if (!config.validation.empty()) {
    files.emplace_back("validation", config.validation);
  }
  return files;
}

SplitLock lock_report(const IngestReport& report, const FileFingerprint& file) {
  return {.samples = report.samples,
          .tokens = report.input_tokens,
          .supervised_tokens = report.supervised_tokens,
          .bytes = file.bytes,
          .sha256 = file.sha256};
}

void prepare_lesson(const RunConfig& config, const RunPaths& paths, PreparedData& prepared, PendingFiles& pending) {
  for (const LessonSplit split : kLessonSplits) {
    const std::string name(lesson_split_name(split));
    const std::vector<Sample> samples = generate_lesson_split(config.data, config.seed, split);
    const std::string text = lesson_jsonl(samples, split);
    pending.replace(paths.lesson_split(name), text);
    SplitLock lock{.samples = static_cast<std::int64_t>(samples.size()),
                   .bytes = static_cast<std::int64_t>(text.size()),
                   .sha256 = sha256_hex(text)};
    for (const Sample& sample : samples) {
      lock.tokens += static_cast<std::int64_t>(sample.inputs.size());
      lock.supervised_tokens += sample.supervised_tokens();
    }
    prepared.lock.splits.emplace_back(name, lock);
  }
}

/// -> what to remember once everything is in its place.
std::vector<TextIndexing> prepare_text(const RunConfig& config, const RunPaths& paths, const PrepareOptions& how,
                                       PreparedData& prepared, PendingFiles& pending) {
  std::vector<TextIndexing> done;
  for (const auto& [name, data] : text_files(config.data)) {
    const std::filesystem::path index = paths.text_index(name);
    TextIndexing& indexing = done.emplace_back(data, index, paths.known_text(name), text_options(config, data), how);
    IngestReport report;
    FileFingerprint fingerprint;
    if (const auto found = indexing.usable_index()) {
      report = found->report();
      report.file = data.string();
      fingerprint = found->data_file();
    } else {
      BuiltIndex built = indexing.build();
      report = std::move(built.report);
      fingerprint = std::move(built.data_file);
      pending.add(index, std::move(built.file));
    }
    prepared.lock.splits.emplace_back(name, lock_report(report, fingerprint));
    prepared.reports.push_back(std::move(report));
  }
  return done;
}

void check_split(const DataLock& lock, const std::string& name, const SplitLock& found) {
  for (const auto& [locked_name, locked] : lock.splits) {
    if (locked_name == name && locked == found) {
      return;
    }
  }
  throw InputError("data", "split " + name + " (" + std::to_string(found.samples) + " samples, sha256 " + found.sha256 +
                               ") is not the one of the data lock; run `samegrad prepare`");
}

std::unique_ptr<SampleSource> open_lesson_split(const RunConfig& config, const RunPaths& paths, LessonSplit split,
                                                const DataLock& lock, const PendingFiles& pending) {
  const std::string name(lesson_split_name(split));
  auto source = std::make_unique<LessonSource>(pending.now_at(paths.lesson_split(name)), split, config.model);
  check_split(lock, name, lock_split(*source, source->data_file()));
  return source;
}

DataSets open_sets(const RunConfig& config, const RunPaths& paths, DataLock lock, const PendingFiles& pending) {
  DataSets sets;
  sets.lock = std::move(lock);
  if (config.data.task != "text") {
    sets.train = open_lesson_split(config, paths, LessonSplit::kTrain, sets.lock, pending);
    sets.validation = open_lesson_split(config, paths, LessonSplit::kValidation, sets.lock, pending);
    sets.test = open_lesson_split(config, paths, LessonSplit::kTest, sets.lock, pending);
    return sets;
  }
  for (const auto& [name, data] : text_files(config.data)) {
    auto source =
        std::make_unique<TextSource>(data, pending.now_at(paths.text_index(name)), text_options(config, data));
    check_split(sets.lock, name, lock_report(source->report(), source->data_file()));
    sets.reports.push_back(source->report());
    (name == "train" ? sets.train : sets.validation) = std::move(source);
  }
  return sets;
}

}  // namespace

PreparedData prepare_data(const RunConfig& config, const RunPaths& paths, const PrepareOptions& options) {
  PreparedData prepared{.lock = {.task = config.data.task, .splits = {}}, .reports = {}, .written = {}};
  PendingFiles pending;
  std::vector<TextIndexing> texts;
  if (config.data.task == "text") {
    texts = prepare_text(config, paths, options, prepared, pending);
  } else {
    prepare_lesson(config, paths, prepared, pending);
  }
  pending.replace(paths.data_lock, to_json(prepared.lock).dump(2) + "\n");
  if (options.accept) options.accept(open_sets(config, paths, prepared.lock, pending));
  prepared.written = pending.commit();
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].remember(prepared.lock.splits[i].second.sha256);
  return prepared;
}

DataSets open_data(const RunConfig& config, const RunPaths& paths) {
  DataLock lock = read_data_lock(paths.data_lock);
  if (lock.task != config.data.task) {
    throw InputError("data", paths.data_lock.string() + ": prepared for data.task " + lock.task + ", the run has " +
                                 config.data.task + "; run `samegrad prepare`");
  }
  return open_sets(config, paths, std::move(lock), {});
}

}  // namespace samegrad
