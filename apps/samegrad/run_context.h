// What every computing subcommand starts with: config, communicator, prepared data and plan.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "apps/samegrad/command_line.h"
#include "apps/samegrad/prepare_run.h"
#include "apps/samegrad/writable_folder.h"
#include "samegrad/base/folder_lock.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/comm/dispatch.h"
#include "samegrad/config/run_config.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {

struct RunContext {
  RunConfig config;
  RunPaths paths;
  std::unique_ptr<Communicator> comm;
  std::shared_ptr<void> comm_watch;  ///< what OnJoin returned
  Dispatch dispatch;                 ///< the same on every rank
  OpenedRun run;
  std::unique_ptr<ScratchFolder> scratch;  ///< of rank 0 in a dry run: where `paths` has what was prepared
  std::unique_ptr<FolderLock> lock;  ///< of rank 0 while it trains: two trainings in one folder would mix their files

  bool leader() const { return comm->rank() == 0; }
  std::chrono::milliseconds timeout() const { return std::chrono::seconds(config.run.timeout_s); }
};

/// Whether a command is refused: looked at by rank 0 while nothing has been written. Each may be missing.
struct Acceptance {
  std::function<void(const RunContext&)> by_config = {};  ///< before data are read: `run` is empty
  std::function<void(const RunContext&)> by_data = {};    ///< with all of the context
};

/// Called as soon as the ranks can talk; its result ends before the communicator does.
using OnJoin = std::function<std::shared_ptr<void>(const Communicator&)>;

/// Joins the other ranks, refuses those under another dispatch, lets rank 0 prepare what is missing, opens it on every
/// rank, and runs `body`. A dry run prepares aside and leaves the run's folder as it was; otherwise rank 0 first looks
/// whether what the command will save can be written. Rank 0 runs the `acceptance`: what that throws leaves the folder
/// as it was. Where one of these fails, every rank throws the same error; where `body` throws on one rank, the others'
/// waits end with its line. Collective.
int in_run_context(const CommandLine& command, const std::function<int(RunContext&)>& body,
                   const Acceptance& acceptance = {}, const OnJoin& on_join = {});

/// Runs `action` and agrees on its failure: where it throws on any rank, every rank throws the same error. Collective.
void together(Communicator& comm, std::string_view name, std::int64_t update, std::chrono::milliseconds timeout,
              const std::function<void()>& action);

/// A text of rank 0 for all. Collective.
std::string share_text(Communicator& comm, const std::string& text, std::chrono::milliseconds timeout);

}  // namespace samegrad
