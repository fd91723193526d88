// The worker of the tests of comm and launch: `comm_worker MODE WORLD_SIZE [ARGUMENT]`, started by launch_workers().
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/comm/dual_exchange.h"
#include "samegrad/comm/environment.h"
#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/launch.h"
#include "samegrad/launch/worker_signals.h"
#include "tests/multiproc/comm_worker_mode.h"
#include "tests/multiproc/worker_communicator.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

/// All go through the updates; rank 1 meets its fate before the gradient of update 7.
void fate(Communicator& comm, milliseconds timeout, const std::function<void()>& of_rank_1) {
  for (std::int64_t update = 1; update <= kUpdate; ++update) {
    comm.barrier({"agreement", update, timeout});
    if (update == kUpdate && comm.rank() == 1) {
      of_rank_1();
    }
    std::vector<std::byte> send(4'096 * static_cast<std::size_t>(comm.size()));
    std::vector<std::byte> recv(send.size());
    comm.all_to_all(send, recv, {"gradient", update, timeout});
  }
}

void killed(Communicator& comm, const Arguments&) {
  fate(comm, minutes(10), [] { raise(SIGKILL); });
}

void stopped(Communicator& comm, const Arguments&) {
  fate(comm, milliseconds(500), [] { raise(SIGSTOP); });
}

[[noreturn]] void wait_for_ever() {
  for (;;) {
    pause();
  }
}

void late(Communicator& comm, const Arguments&) { fate(comm, milliseconds(500), wait_for_ever); }

void throws(Communicator& comm, const Arguments&) {
  fate(comm, minutes(10), [] { throw RunError("train", "loss is not finite"); });
}

void leaves_in_order(Communicator& comm, const Arguments&) {
  for (std::int64_t update = 1; update <= (comm.rank() == 1 ? 2 : 3); ++update) {
    comm.barrier({"agreement", update, minutes(10)});
  }
}

/// A rank that has failed goes on calling.
void calls_after_leaving(Communicator& comm, const Arguments&) {
  comm.barrier({"agreement", kUpdate, minutes(10)});
  if (comm.rank() != 1) return;
  comm.leave("[train] loss is not finite");
  comm.barrier({"gradient", kUpdate, minutes(10)});
}

void exits(Communicator& comm, const Arguments& arguments) {
  fate(comm, minutes(10), [&] { _exit(std::stoi(arguments.argument)); });
}

void mismatched(Communicator& comm, const Arguments&) {
  std::vector<std::byte> part(128);
  std::vector<std::byte> all(part.size() * static_cast<std::size_t>(comm.size()));
  if (comm.rank() == comm.size() - 1) {
    comm.barrier({"end", kUpdate, minutes(10)});
  } else {
    comm.all_gather(part, all, {"agreement", kUpdate, minutes(10)});
  }
}

void different_sizes(Communicator& comm, const Arguments&) {
  std::vector<std::byte> part(comm.rank() == comm.size() - 1 ? 64 : 128);
  std::vector<std::byte> all(part.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(part, all, {"agreement", kUpdate, minutes(10)});
}

void fails_agreed(Communicator& comm, const Arguments&) {
  agree_no_failure(comm, comm.rank() == 1 ? "[data] train.jsonl:7: not JSON" : "", 2, {"data", 0, minutes(10)});
}

/// Rank 0 has the launcher stopped once all can be; each leaves as a run does after its checkpoint.
void stops_when_asked(Communicator& comm, const Arguments& arguments) {
  install_stop_signals();
  comm.barrier({"ready", 0, minutes(10)});
  if (comm.rank() == 0) {
    kill(getppid(), std::stoi(arguments.argument));
  }
  while (stop_signal() == 0) {
    usleep(1'000);
  }
  comm.barrier({"checkpoint", 0, minutes(10)});
  _exit(128 + stop_signal());
}

void ignores_the_wish_to_stop(Communicator& comm, const Arguments&) {
  signal(SIGTERM, SIG_IGN);
  comm.barrier({"ready", 0, minutes(10)});
  while (comm.rank() == 0) {  // until the launcher takes it as a second request
    kill(getppid(), SIGTERM);
    usleep(20'000);
  }
  wait_for_ever();
}

void ignores_terminate_after_a_failure(Communicator& comm, const Arguments&) {
  signal(SIGTERM, SIG_IGN);
  comm.barrier({"ready", 0, minutes(10)});
  if (comm.rank() == 1) {
    throw RunError("train", "loss is not finite");
  }
  wait_for_ever();
}

void shows_environment(Communicator& comm, const Arguments& arguments) {
  std::ofstream file(arguments.argument + "/" + std::to_string(comm.rank()));
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS", "ADDED"}) {
    file << name << "=" << process_environment(name).value_or("(unset)") << "\n";
  }
  file << "group=" << (getpgrp() == getpid() ? "own" : "shared") << "\n";
}

/// Rank 0 writes all pids, then kills the launcher; all wait for the kernel to end them.
void orphans(Communicator& comm, const Arguments& arguments) {
  const DualExchange exchange = dual_exchange_check(comm, {"dual", 0, minutes(10)});
  if (comm.rank() == 0) {
    std::ofstream file(arguments.argument);
    for (const std::int64_t pid : exchange.pids) {
      file << pid << "\n";
    }
    file.close();
    kill(getppid(), SIGKILL);
  }
  wait_for_ever();
}

/// A launcher of its own.
void launcher(Communicator&, const Arguments& arguments) {
  LaunchOptions options;
  options.program = "/proc/self/exe";
  options.arguments = {"orphans", "3", arguments.argument};
  options.processes = 3;
  _exit(launch_workers(options).exit_code);
}

/// Before a rank joins: rank 1 is done; with a store file, rank 0 leaves the note that it has come, and waits.
void end_or_wait_before_joining(const std::string& mode, const WorkerEnvironment& environment) {
  if ((mode == "done-before-joining" || mode == "waits-in-a-file") && environment.rank == 1) _exit(0);
  if (mode == "waits-in-a-file") {
    const std::string key = "/samegrad/rank/0";
    const auto length = static_cast<std::uint32_t>(key.size());
    require(write(environment.store_fd, &length, sizeof(length)) > 0, "length of a note");
    require(write(environment.store_fd, key.data(), key.size()) > 0, "key of a note");
    wait_for_ever();
  }
}

const std::map<std::string, Mode> kModes{
    {"killed", killed},
    {"stopped", stopped},
    {"late", late},
    {"throws", throws},
    {"leaves-in-order", leaves_in_order},
    {"calls-after-leaving", calls_after_leaving},
    {"exits", exits},
    {"mismatched", mismatched},
    {"different-sizes", different_sizes},
    {"fails-agreed", fails_agreed},
    {"stops-when-asked", stops_when_asked},
    {"ignores-the-wish-to-stop", ignores_the_wish_to_stop},
    {"ignores-terminate-after-a-failure", ignores_terminate_after_a_failure},
    {"shows-environment", shows_environment},
    {"orphans", orphans},
    {"launcher", launcher},
    {"done-before-joining",
     [](Communicator& comm, const Arguments&) {
       comm.barrier({"join", 0, minutes(10)});
     }},
};

int run(const std::string& mode, const Arguments& arguments) {
  int rank = 0;
  try {
    const WorkerEnvironment environment = read_worker_environment();
    rank = environment.rank;
    end_or_wait_before_joining(mode, environment);
    const auto comm = worker_communicator(environment);
    require(comm->size() == arguments.world_size, "world size " + std::to_string(comm->size()));
    try {
      const auto exchange = exchange_modes().find(mode);
      (exchange != exchange_modes().end() ? exchange->second : kModes.at(mode))(*comm, arguments);
    } catch (const std::exception& error) {
      comm->leave(error.what());
      throw;
    }
    return 0;
  } catch (const std::exception& error) {
    const FailureReport report = failure_report_of(error, rank);
    write_failure_report(report);
    return report.exit_code;
  }
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  return samegrad::run(argv[1], {std::stoi(argv[2]), argc > 3 ? argv[3] : ""});
}
