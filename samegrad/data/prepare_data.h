// From a config to the files that a run reads, and from these files to samples.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/data/data_lock.h"
#include "samegrad/data/ingest_report.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/data/text_indexing.h"

namespace samegrad {

struct PreparedData {
  DataLock lock;
  std::vector<IngestReport> reports;           ///< task text: of train, then of validation if there is one
  std::vector<std::filesystem::path> written;  ///< what was missing or stale; empty when all was there
};

struct DataSets {
  std::shared_ptr<const SampleSource> train;
  std::shared_ptr<const SampleSource> validation;  ///< null: task text without data.validation
  std::shared_ptr<const SampleSource> test;        ///< null: task text
  DataLock lock;
  std::vector<IngestReport> reports;  ///< as in PreparedData
};

/// Writes what is missing or stale: the lesson's splits, or the index of each text file, and the data lock. Text files
/// are read whole, but for `options` (their SHA-256 decides whether an index is stale). Every file is finished before
/// the first is put in its place, so an error leaves the folder as it was. Throws InputError for the data, RunError for
/// the disk. Local: one process calls it, before the others call open_data().
PreparedData prepare_data(const RunConfig& config, const RunPaths& paths, const PrepareOptions& options = {});

/// Opens what prepare_data() left; writes nothing and does not read text files through. Throws InputError when
/// something is missing or does not belong together (config, files, lock), CheckError for a damaged lock. Local.
DataSets open_data(const RunConfig& config, const RunPaths& paths);

}  // namespace samegrad
