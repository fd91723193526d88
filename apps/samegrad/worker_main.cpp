// samegrad-worker: the program that computes. samegrad or a launcher starts it; it takes the same command line.
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>

#include "apps/samegrad/command_line.h"
#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/store_host.h"
#include "samegrad/base/cut_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/base/one_line.h"
#include "samegrad/comm/environment.h"
#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {
namespace {

/// `done` once nothing is left but to send what was printed on its way.
int run_worker(int argc, const char* const* argv, bool& done) {
  if (argc == 3 && argv[1] == kStoreHostArgument) {
    return run_store_host(argv[2]);
  }
  note_terminal_stops();
  const CommandLine line = parse_command_line(argc, argv);
  if (!line.help.empty()) {
    std::cout << line.help;
    flush_results();
    return 0;
  }
  set_log_quiet(line.quiet);
  const Command* const command = find_command(line.subcommand);
  if (command == nullptr) {
    throw InputError("usage", line.subcommand + ": a command of samegrad, not of samegrad-worker");
  }
  const int exit_code = command->run(line);
  done = exit_code == 0;
  if (exit_code != 0 && !std::cout.flush()) {
    log_warn("standard output cannot be written: what was printed is not complete");
  } else {
    flush_results();
  }
  return exit_code;
}

/// What an atom frees, the next one takes again: without this the C library gives it back to the system and gets it
/// page by page (docs/performance.md).
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that it takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/// For the report of an error only: the environment itself may be what is wrong.
int rank_or_zero() {
  try {
    return read_worker_environment().rank;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  samegrad::keep_freed_memory();
  std::signal(SIGXFSZ, SIG_IGN);  // as in front.cpp
  samegrad::tell_of_cut_files([](const std::string& line) {
    samegrad::write_failure_report({.rank = samegrad::rank_or_zero(),
                                    .exit_code = static_cast<int>(samegrad::ExitCode::kBadInput),
                                    .message = samegrad::one_line(line)});
  });
  bool done = false;
  try {
    const int exit_code = samegrad::run_worker(argc, argv, done);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return exit_code;  // they look once more at exit
#else
    _exit(exit_code);  // nothing is left to do, and libtorch takes a tenth of a second to take itself apart
#endif
  } catch (const std::exception& error) {
    samegrad::FailureReport report = samegrad::failure_report_of(error, samegrad::rank_or_zero());
    report.message = samegrad::error_line(error);
    report.done = done;
    samegrad::write_failure_report(report);
    return samegrad::error_exit_code(error);
  }
}
