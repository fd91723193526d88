#include "apps/samegrad/launch_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string_view>

#include "apps/samegrad/command_options.h"
#include "samegrad/base/allowed_cores.h"
#include "samegrad/comm/environment.h"

namespace samegrad {
namespace {

std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    refuse_usage(option + ": '" + text + "'; allowed: a whole number, " + std::to_string(least) + " to " +
                 std::to_string(most));
  }
  return value;
}

CLI::Option* add_number(CLI::App& command, const std::string& names, std::int64_t least, std::int64_t most,
                        std::int64_t& value, const std::string& description) {
  const std::string option = names.substr(0, names.find(','));
  return command
      .add_option_function<std::string>(
          names, [=, &value](const std::string& text) { value = whole_number(option, text, least, most); }, description)
      ->type_name("N");
}

std::int64_t usable_processors() { return std::min<std::int64_t>(allowed_cores(), kMostLocalProcesses); }

std::int64_t number_of_processes(const std::string& text) {
  if (text == "auto" || text == "cpu") {
    return usable_processors();
  }
  if (text == "gpu") {
    refuse_usage("--nproc: 'gpu'; this build computes on processors only: give a number, or cpu");
  }
  return whole_number("--nproc", text, 1, kMostLocalProcesses);
}

struct Refusal {
  std::string_view option;
  std::string_view why;
};
constexpr std::string_view kOneHost =
    "`samegrad launch` starts processes of this host only; on several, start torchrun on each (docs/launchers.md)";
constexpr std::string_view kNoRendezvous = "the processes of one host need no rendezvous: leave it out";
constexpr std::string_view kNoPython =
    "`samegrad launch` starts any program: write -- python3 -m MODULE, or -- PROGRAM";
constexpr std::array kRefused{
    Refusal{"--nnodes", kOneHost},
    Refusal{"--node-rank", kOneHost},
    Refusal{"--node_rank", kOneHost},
    Refusal{"--local-addr", kOneHost},
    Refusal{"--rdzv-backend", kNoRendezvous},
    Refusal{"--rdzv-endpoint", kNoRendezvous},
    Refusal{"--rdzv-conf", kNoRendezvous},
    Refusal{"--module", kNoPython},
    Refusal{"-m", kNoPython},
    Refusal{"--no-python", kNoPython},
    Refusal{"--run-path", kNoPython},
    Refusal{"--role", "all processes have the role 'default'"},
    Refusal{"--start-method", "each process is a program of its own: leave it out"},
    Refusal{"--local-ranks-filter", "use --redirects to keep a rank's output off the screen"},
    Refusal{"--logs-specs", "use --log-dir, --tee and --redirects"},
    Refusal{"--numa-binding", "start the program by numactl or taskset: -- numactl ..."},
    Refusal{"--event-log-handler", "use --failure-json to have a failure as JSON"},
    Refusal{"--signals-to-handle", "SIGTERM, SIGINT, SIGHUP and SIGUSR1 are passed on always"}};

std::string with_dashes(std::string name) {
  std::replace(name.begin() + std::min<std::ptrdiff_t>(2, std::ssize(name)), name.end(), '_', '-');
  return name;
}

}  // namespace

void add_supervision_options(CLI::App& command, CommandLine& line) {
  LaunchSettings& launch = line.launch;
  const bool is_launch = command.get_name() == "launch";
  const auto torchrun = [&](CLI::Option* option, const char* variable) {
    if (is_launch) {
      option->envname(variable);
    }
  };
  torchrun(add_number(command, "--max-restarts,--max_restarts", 0, 1'000'000, launch.max_restarts,
                      is_launch ? "Starts all processes again, up to N times, after one failed"
                                : "After a failure goes on from the newest checkpoint, up to N times"),
           "PET_MAX_RESTARTS");
  add_number(command, "--min-nproc,--min_nproc", 1, kMostLocalProcesses, launch.min_nproc,
             "Restarts with one process less, not below N, after two failures at the same place");
  if (is_launch) {
    add_number(command, "--grace", 1, 86'400, launch.grace_s,
               "Seconds from SIGTERM to SIGKILL; default 30, and 3 after a failure");
  }
  command.add_option("--failure-json", launch.failure_json, "Writes who failed, and how, into FILE")->type_name("FILE");
  torchrun(command
               .add_option("--log-dir,--log_dir", launch.log_dir,
                           "Each rank's output also in DIR/attempt_A/rank-R/{stdout,stderr}.log")
               ->type_name("DIR"),
           "PET_LOG_DIR");
  torchrun(
      command.add_option("-t,--tee", launch.tee, "Which output is in the log, too: 0, 1, 2, 3 or by rank, 0:1,1:3")
          ->type_name("MODES"),
      "PET_TEE");
  torchrun(command.add_option("-r,--redirects", launch.redirects, "Which output is in the log only; as --tee")
               ->type_name("MODES"),
           "PET_REDIRECTS");
}

void add_launch_options(CLI::App& command, CommandLine& line) {
  LaunchSettings& launch = line.launch;
  command
      .add_option_function<std::string>(
          "--nproc,--nproc-per-node,--nproc_per_node,--num_processes,--num-processes",
          [&line](const std::string& text) { line.nproc = number_of_processes(text); },
          "Starts N processes on this host; auto, cpu: one a processor")
      ->type_name("N|auto")
      ->envname("PET_NPROC_PER_NODE");
  add_supervision_options(command, line);
  command.add_flag_callback(
      "--no-prefix", [&launch] { launch.prefix = false; }, "Output as it is, without [rank N] before each line");
  command
      .add_option_function<std::string>(
          "--store",
          [&launch](const std::string& text) {
            if (text != "auto" && text != "no") {
              refuse_usage("--store: '" + text + "'; allowed: auto, which starts it when a program asks, or no");
            }
            launch.store = text;
          },
          "The store of torch.distributed at MASTER_ADDR, MASTER_PORT; default auto")
      ->type_name("auto|no");
  command.add_option("--master-addr,--master_addr", launch.master_addr, "An address of this host; default 127.0.0.1")
      ->type_name("HOST")
      ->envname("PET_MASTER_ADDR");
  add_number(command, "--master-port,--master_port", 0, 65'535, launch.master_port, "Port of the store; 0: a free one")
      ->envname("PET_MASTER_PORT");
  command.add_option("--rdzv-id,--rdzv_id", launch.run_id, "TORCHELASTIC_RUN_ID of the processes")
      ->type_name("TEXT")
      ->envname("PET_RDZV_ID");
  command.add_flag("--standalone", launch.standalone, "As always: one host, a free port")->envname("PET_STANDALONE");
  command
      .add_option("--monitor-interval,--monitor_interval", launch.monitor_interval,
                  "Taken for torchrun's sake; ends are noticed at once")
      ->type_name("SECONDS")
      ->envname("PET_MONITOR_INTERVAL");
}

void check_launch_options(const CommandLine& line) {
  const LaunchSettings& launch = line.launch;
  const std::string& name = line.subcommand;
  if (launch.min_nproc > 0 && line.nproc > 0 && launch.min_nproc > line.nproc) {
    refuse_usage(name + ": --min-nproc " + std::to_string(launch.min_nproc) + " with --nproc " +
                 std::to_string(line.nproc) + "; it is at most that");
  }
  if (launch.min_nproc > 0 && launch.max_restarts == 0) {
    refuse_usage(name + ": --min-nproc without --max-restarts; it says with how many processes a restart may go on");
  }
  if (launch.log_dir.empty() && !(launch.tee.empty() && launch.redirects.empty())) {
    refuse_usage(name + ": " + (launch.tee.empty() ? "--redirects" : "--tee") +
                 " without --log-dir; give the folder for the files");
  }
}

std::optional<std::string> why_not_of_torchrun(const std::string& option) {
  const std::string name = with_dashes(option);
  const auto* const found = std::ranges::find_if(
      kRefused, [&](const Refusal& refusal) { return refusal.option == option || refusal.option == name; });
  return found == kRefused.end() ? std::nullopt : std::optional<std::string>(found->why);
}

}  // namespace samegrad
