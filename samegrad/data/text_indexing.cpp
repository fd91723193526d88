#include "samegrad/data/text_indexing.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/data/file_chunks.h"

namespace samegrad {
namespace {

std::int64_t now_ns() {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string sha256_of(const DataFile& file) {
  FileChunks chunks(file);
  while (!chunks.next().empty()) {
  }
  return chunks.sha256();
}

}  // namespace

TextIndexing::TextIndexing(std::filesystem::path data, std::filesystem::path index, std::filesystem::path known,
                           const TextOptions& text, const PrepareOptions& how)
    : data_(std::move(data)), index_(std::move(index)), known_(std::move(known)), text_(text), how_(&how) {}

std::optional<SampleIndex> TextIndexing::usable_index() {
  if (!std::filesystem::exists(index_)) {
    return std::nullopt;
  }
  try {
    SampleIndex found(index_);
    const DataFile file(data_);
    const bool fits = found.options() == to_json(text_) && found.data_file().bytes == file.size() &&
                      holds(file, found.data_file().sha256);
    return fits ? std::optional(std::move(found)) : std::nullopt;
  } catch (const InputError&) {
    // Whatever is wrong with the index ends with a new one; what is wrong with the data is found again by reading it.
    return std::nullopt;
  }
}

BuiltIndex TextIndexing::build() {
  announce();
  const std::int64_t start_ns = now_ns();
  const DataFile before(data_);
  const bool shows = before.later_writes_show();
  const FileFacts facts = before.facts();
  BuiltIndex built = build_sample_index(data_, index_, text_);
  // Whoever wrote to the file meanwhile, or put another in its place, left a younger time.
  facts_.reset();
  if (shows && facts_are_settled(facts, start_ns) && DataFile(data_).facts() == facts) facts_ = facts;
  return built;
}

void TextIndexing::remember(const std::string& sha256) const {
  if (facts_) remember_file(known_, *facts_, sha256);
}

void TextIndexing::announce() const {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(data_, error);
  if (how_->reading && !error) how_->reading(data_, static_cast<std::int64_t>(bytes));
}

bool TextIndexing::holds(const DataFile& file, const std::string& sha256) {
  const bool is_known = is_remembered(known_, file.facts(), sha256);
  if (how_->trust_untouched_files && is_known) return true;
  const bool shows = file.later_writes_show();
  const FileFacts facts = file.facts();
  const std::int64_t start_ns = now_ns();
  announce();
  if (sha256_of(file) != sha256) return false;
  if (!is_known && shows && facts_are_settled(facts, start_ns) && file.facts() == facts) facts_ = facts;
  return true;
}

}  // namespace samegrad
