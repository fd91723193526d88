// Which data final weights were trained on, kept in the file that holds them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "samegrad/data/data_lock.h"

namespace samegrad {

/// Metadata of a file of final weights. Local.
std::map<std::string, std::string> trained_on(const DataLock& data);

/// Holds the data of the weights in `file` against `now`. Returns a line for each other split that differs; nothing of
/// weights that do not say what they were trained on. Throws InputError where the training data differ, CheckError
/// where the file's words cannot be read. Local.
std::vector<std::string> check_trained_on(const std::filesystem::path& file, const DataLock& now);

}  // namespace samegrad
