// The file in which a worker of torchrun tells what it failed of; Python programs write it too (@record of
// torch.distributed.elastic).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace samegrad {

/// Names the file; torchrun and `samegrad launch` set it for each worker.
inline constexpr const char* kErrorFileVariable = "TORCHELASTIC_ERROR_FILE";

/// Writes `message` in torchrun's form, {"message": {"message", "extraInfo": {"py_callstack", "timestamp"}}}, into the
/// file that the environment names; nothing where it names none. torchrun takes the rank with the earliest time for the
/// first cause, and knows whole seconds only: that of a consequence is one later. False where the file cannot be
/// written. Never throws. Local.
bool write_error_file(const std::string& message, bool is_consequence = false);

/// The message in such a file, on one line; nothing where there is none. The file is not trusted: one that is no
/// regular file or above 1 MiB counts as none. Never throws. Local.
std::optional<std::string> read_error_file(const std::filesystem::path& file);

}  // namespace samegrad
