// A text file on its way to its index: the one that is there, where it belongs to the file, or a new one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "samegrad/data/data_file.h"
#include "samegrad/data/index_builder.h"
#include "samegrad/data/known_file.h"
#include "samegrad/data/sample_index.h"
#include "samegrad/data/text_options.h"

namespace samegrad {

struct DataSets;

struct PrepareOptions {
  /// A text file that nobody has touched since its index was last checked (data/known_file.h) is not read again.
  bool trust_untouched_files = false;
  /// Told before a text file is read through.
  std::function<void(const std::filesystem::path&, std::int64_t bytes)> reading = {};
  /// Given all that is prepared before the first file is put in its place: what it throws leaves the folder as it was.
  std::function<void(DataSets)> accept = {};
};

class TextIndexing {
 public:
  /// `known`: the record of the file for which the index was last checked. `how` must outlive this.
  TextIndexing(std::filesystem::path data, std::filesystem::path index, std::filesystem::path known,
               const TextOptions& text, const PrepareOptions& how);

  /// The index if it is whole and belongs to this file and these options. Local.
  std::optional<SampleIndex> usable_index();
  /// As build_sample_index. Local.
  BuiltIndex build();
  /// Once the index of a file with this content is in its place: the next start need not read the file. Local.
  void remember(const std::string& sha256) const;

 private:
  void announce() const;
  bool holds(const DataFile& file, const std::string& sha256);

  std::filesystem::path data_;
  std::filesystem::path index_;
  std::filesystem::path known_;
  TextOptions text_;
  const PrepareOptions* how_;
  std::optional<FileFacts> facts_;  // to be remembered
};

}  // namespace samegrad
