// A trial of what a save does to a folder.
#pragma once

#include <filesystem>

namespace samegrad {

/// Writes a small hidden file in `folder`, fsyncs and renames it, and removes it. Throws RunError, as
/// write_file_atomically(), where one of the first three fails. Local.
void probe_folder(const std::filesystem::path& folder);

/// Whether `path` is what a killed probe left: nothing that one which runs still needs. Local.
bool is_left_by_probe(const std::filesystem::path& path);

}  // namespace samegrad
