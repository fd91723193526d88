#include "apps/samegrad/run_context.h"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/samegrad/command_config.h"
#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"
#include "samegrad/base/file_operations.h"
#include "samegrad/base/log.h"
#include "samegrad/base/temporary_name.h"
#include "samegrad/checkpoint/leftovers.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/comm/aten_dispatch.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/join.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/leader_work.h"
#include "samegrad/report/number_text.h"

namespace samegrad {

void together(Communicator& comm, std::string_view name, std::int64_t update, std::chrono::milliseconds timeout,
              const std::function<void()>& action) {
  std::string failure;
  int code = 0;
  note_phase(comm, name, update);
  try {
    action();
  } catch (const Error& error) {
    failure = error.what();
    code = static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    failure = "[" + std::string(name) + "] rank " + std::to_string(comm.rank()) +
              ": memory is short; choose a smaller model or shorter samples (`samegrad env` tells what is free)";
    code = static_cast<int>(ExitCode::kRunFailed);
  } catch (const std::exception& error) {
    failure = "[" + std::string(name) + "] rank " + std::to_string(comm.rank()) + ": " + error.what();
    code = static_cast<int>(ExitCode::kRunFailed);
  }
  agree_no_failure(comm, failure, code, {name, update, timeout});
}

std::string share_text(Communicator& comm, const std::string& text, std::chrono::milliseconds timeout) {
  auto size = static_cast<std::int64_t>(text.size());
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, {"text size", 0, timeout});
  std::string shared = text;
  shared.resize(static_cast<std::size_t>(size));
  comm.broadcast(std::as_writable_bytes(std::span(shared)), 0, {"text", 0, timeout});
  return shared;
}

namespace {

// Reading a large file takes seconds: say so before.
void announce_reading(const std::filesystem::path& file, std::int64_t bytes) {
  constexpr std::int64_t kWorthSaying = std::int64_t{64} << 20;
  if (bytes > kWorthSaying) log_info("reading " + file.string() + ", " + bytes_text(bytes) + " ...");
}

/// What a killed run left. This one may neither save nor write all of the same files, which would remove it too.
void clear_leftovers(const RunPaths& paths) {
  for (const std::filesystem::path& file : paths.generated_files()) remove_left_temporaries(file);
  std::vector<std::string> names;
  real_files().list(paths.checkpoints, names);
  remove_leftovers(real_files(), paths.checkpoints, names);
}

// By rank 0: looks whether the command is refused, and writes what is missing.
void prepare(RunContext& context, const CommandLine& command, const Acceptance& acceptance) {
  if (command.subcommand == "train") remove_left_temporaries(context.paths.run / kScratchName);
  std::optional<PassingFolder> folder;  // goes again where nothing is put there
  if (command.dry_run) {
    context.scratch = std::make_unique<ScratchFolder>(context.paths.run);
  } else {
    require_writable_run(command, context.config, context.paths);
    folder.emplace(context.paths.data_dir);
    if (command.subcommand == "train") {
      context.lock = std::make_unique<FolderLock>(context.paths.outputs, "train");
      clear_leftovers(context.paths);
    }
  }
  if (acceptance.by_config) acceptance.by_config(context);
  if (context.scratch) context.paths.prepare_in(context.scratch->path());
  const std::string wrote = prepare_run(
      context.config, context.paths, {.trust_untouched_files = true, .reading = announce_reading}, [&](OpenedRun& run) {
        if (!acceptance.by_data) return;
        std::swap(context.run, run);
        acceptance.by_data(context);
        std::swap(context.run, run);
      });
  if (!wrote.empty() && !context.scratch) {
    log_info("prepared what was missing, or made for other data or another configuration:\n" +
             wrote.substr(0, wrote.size() - 1));
  }
}

RunContext open_run_context(const CommandLine& command, const Acceptance& acceptance, const OnJoin& on_join) {
  RunContext context{.config = command_config(command),
                     .paths = RunPaths(command.run),
                     .comm = nullptr,
                     .comm_watch = nullptr,
                     .dispatch = effective_dispatch(),
                     .run = {},
                     .scratch = nullptr,
                     .lock = nullptr};
  JoinedRanks joined = join_ranks(read_worker_environment(), context.config.run.backend, context.timeout());
  context.comm = std::move(joined.communicator);
  if (on_join) context.comm_watch = on_join(*context.comm);
  if (context.leader() && !joined.note.empty()) log_info(joined.note);
  refuse_unequal_dispatch(*context.comm, context.dispatch, context.timeout());
  together(*context.comm, "prepare", 0, context.timeout(), [&] {
    leader_works(*context.comm, {"prepare", 0, context.timeout()}, [&] {
      fault_point("prepare", context.comm->rank(), 0);
      if (context.leader()) prepare(context, command, acceptance);
    });
  });
  if (command.dry_run) {
    const std::string scratch = context.scratch ? context.scratch->path().string() : "";
    context.paths.prepare_in(share_text(*context.comm, scratch, context.timeout()));
  }
  together(*context.comm, "open", 0, context.timeout(), [&] { context.run = open_run(context.config, context.paths); });
  return context;
}

}  // namespace

int in_run_context(const CommandLine& command, const std::function<int(RunContext&)>& body,
                   const Acceptance& acceptance, const OnJoin& on_join) {
  RunContext context = open_run_context(command, acceptance, on_join);
  try {
    return body(context);
  } catch (const std::exception& error) {
    context.comm->leave(error.what());
    throw;
  }
}

}  // namespace samegrad
