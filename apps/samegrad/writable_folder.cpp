#include "apps/samegrad/writable_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "apps/samegrad/machine.h"
#include "apps/samegrad/run_needs.h"
#include "samegrad/base/error.h"
#include "samegrad/base/folder_probe.h"
#include "samegrad/base/temporary_name.h"

namespace samegrad {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw RunError("write", path.string() + ": " + reason);
}

std::string without_stage(const std::string& line) {
  const std::size_t end = line.find("] ");
  return end == std::string::npos ? line : line.substr(end + 2);
}

}  // namespace

PassingFolder::PassingFolder(const std::filesystem::path& folder) {
  std::filesystem::path path;
  for (const std::filesystem::path& part : std::filesystem::absolute(folder).lexically_normal()) {
    path /= part;
    struct stat found {};
    if (stat(path.c_str(), &found) == 0) {
      if (!S_ISDIR(found.st_mode)) refuse(path, "is no folder");
      continue;
    }
    if (errno != ENOENT) refuse(path, std::strerror(errno));
    if (lstat(path.c_str(), &found) == 0) refuse(path, "is a link to what is not there");
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
      const int reason = errno;
      // A constructor that throws has no destructor's help.
      std::for_each(made_.rbegin(), made_.rend(), [](const std::filesystem::path& made) { rmdir(made.c_str()); });
      refuse(path, std::string("making the folder: ") + std::strerror(reason));
    }
    made_.push_back(path);
  }
}

PassingFolder::~PassingFolder() {
  std::for_each(made_.rbegin(), made_.rend(), [](const std::filesystem::path& made) { rmdir(made.c_str()); });
}

ScratchFolder::ScratchFolder(const std::filesystem::path& run)
    : path_(temporary_path(run / kScratchName)), folder_(path_) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void require_writable(const std::string& stage, const std::filesystem::path& folder, const std::string& purpose,
                      std::int64_t bytes_needed) {
  const std::string what = folder.string() + " cannot take " + purpose + ": ";
  const std::string end = "; nothing was computed; make it writable, or give another folder";
  try {
    const PassingFolder there(folder);
    probe_folder(folder);
  } catch (const RunError& error) {
    throw RunError(stage, what + without_stage(error.what()) + end);
  }
  const std::int64_t free = free_disk(folder).value_or(bytes_needed);
  if (free < bytes_needed) {
    throw RunError(stage, what + "needs " + std::to_string(bytes_needed) + " bytes, " + std::to_string(free) +
                              " bytes are free there; nothing was computed; free some, or give another folder");
  }
}

void require_writable_run(const CommandLine& command, const RunConfig& config, const RunPaths& paths) {
  const SavedBytes bytes = saved_bytes(config);
  if (!command.dump_gradients.empty()) {
    require_writable(command.subcommand, command.dump_gradients, "gradients (--dump-gradients)", bytes.weights);
  }
  if (command.subcommand != "train") return;
  require_writable("train", paths.checkpoints, "checkpoints", bytes.checkpoint);
  require_writable("train", paths.outputs, "the run's files", bytes.weights);
  for (const char* kind : {"stopped", "continuous", "resumed"}) {
    const std::filesystem::path file = paths.final_parameters(kind);
    if (std::filesystem::is_directory(file)) {
      throw RunError("train", file.string() + ": a folder, where the run writes a file; move it away");
    }
  }
}

}  // namespace samegrad
