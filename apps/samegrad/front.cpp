// samegrad: answers what needs no libtorch, and starts samegrad-worker for the rest.
#include <csignal>
#include <exception>
#include <iostream>
#include <string_view>

#include "apps/samegrad/command_line.h"
#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/start_worker.h"
#include "samegrad/base/cut_file.h"
#include "samegrad/base/log.h"
#include "samegrad/base/one_line.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {
namespace {

int run_front(int argc, const char* const* argv) {
  const CommandLine line = parse_command_line(argc, argv);
  if (!line.help.empty()) {
    release_signals();
    std::cout << line.help;
    flush_results();
    return 0;
  }
  set_log_quiet(line.quiet);
  const Command* const command = find_command(line.subcommand);
  const int exit_code = command == nullptr ? run_in_workers(line, argc, argv) : command->run(line);
  flush_results();
  return exit_code;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, with a name
  // Its workers handle these signals, once libtorch is loaded.
  if (argc > 1 && argv[1] == std::string_view("train")) samegrad::hold_signals();
  samegrad::tell_of_cut_files([](const std::string& line) { samegrad::log_error(samegrad::one_line(line)); });
  try {
    return samegrad::run_front(argc, argv);
  } catch (const std::exception& error) {
    samegrad::release_signals();  // who asks this program to end while it cannot write shall be obeyed
    samegrad::log_error(samegrad::error_line(error));
    return samegrad::error_exit_code(error);
  }
}
