// Of which run, and which data, final weights are, kept in the file that holds them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "samegrad/data/data_lock.h"

namespace samegrad {

/// Metadata of a file of final weights; `run_digest` is OpenedRun::digest. The same of runs that should end alike.
/// Local.
std::map<std::string, std::string> trained_on(const DataLock& data, const std::string& run_digest);

/// Whether both files say that their runs had the same config, plan and data, or one does not say it. Throws as
/// SafetensorsFile. Local.
bool of_equal_runs(const std::filesystem::path& a, const std::filesystem::path& b);

/// Holds the data of the weights in `file` against `now`. Returns a line for each other split that differs; nothing of
/// weights that do not say what they were trained on. Throws InputError where the training data differ, CheckError
/// where the file's words cannot be read. Local.
std::vector<std::string> check_trained_on(const std::filesystem::path& file, const DataLock& now);

}  // namespace samegrad
