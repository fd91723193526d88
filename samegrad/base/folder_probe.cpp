#include "samegrad/base/folder_probe.h"

#include <optional>
#include <string_view>
#include <system_error>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/temporary_name.h"

namespace samegrad {
namespace {

/// A file without a name (O_TMPFILE) could not be left over, but would not show whether a name can be changed here, as
/// each save does at its end. One name for all processes: a probe that has it only waits to be removed, so whoever
/// removes it, or puts his own there, hinders nobody, and the next one takes away what a killed one left.
constexpr std::string_view kProbeName = ".samegrad-probe";

/// Removed at the end, whether it was made or not.
struct PassingFile {
  std::filesystem::path path;
  ~PassingFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

void probe_folder(const std::filesystem::path& folder) {
  const PassingFile probe{folder / kProbeName};
  write_file_atomically(probe.path, "samegrad");
}

bool is_left_by_probe(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name == kProbeName) return true;
  const std::optional<TemporaryName> temporary = parse_temporary_name(name);
  return temporary && temporary->target == kProbeName && is_left_over(path, temporary->owner);
}

}  // namespace samegrad
