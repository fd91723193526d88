#include "apps/samegrad/command_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "apps/samegrad/launch_options.h"
#include "apps/samegrad/simulate_options.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"
#include "samegrad/config/load.h"

namespace samegrad {
namespace {

void add_count(CLI::App& command, const std::string& names, std::int64_t most, const std::string& description,
               const std::function<void(std::int64_t)>& take) {
  const std::string option = names.substr(0, names.find(','));
  const auto parse = [=](const std::string& text) {
    take(parse_number<std::int64_t>(option, text, 1, most, "a whole number, 1 to " + std::to_string(most)));
  };
  command.add_option_function<std::string>(names, parse, description)->type_name("N");
}

void add_processes_option(CLI::App& command, CommandLine& line) {
  add_count(command, "--nproc,--num_processes,--num-processes", kMostLocalProcesses, "Starts N processes on this host",
            [&line](std::int64_t count) { line.nproc = count; });
}

void add_backend_option(CLI::App& command, CommandLine& line) {
  command
      .add_option_function<std::string>(
          "--backend", [&line](const std::string& name) { line.shorthands.push_back("--backend=" + name); },
          "How the processes talk (run.backend)")
      ->type_name("NAME");
}

void add_train_options(CLI::App& command, CommandLine& line) {
  add_processes_option(command, line);
  add_supervision_options(command, line);
  add_count(command, "--stop-at", 1'000'000'000, "Ends at this update with a checkpoint (plan.stop_at)",
            [&line](std::int64_t update) { line.stop_at = update; });
  command.add_flag("--continuous", line.continuous, "Trains to the last update without a stop (plan.stop_at=0)");
  command.add_option("--resume", line.resume, "Goes on from a checkpoint; auto: from the latest, or starts")
      ->type_name("PATH|latest|auto");
  add_count(command, "--grace", 86'400,
            "Seconds that the checkpoint of a SIGTERM or SIGINT may take; default 25, for launchers kill after 30",
            [&line](std::int64_t seconds) { line.grace_s = seconds; });
  command.add_flag("--allow-other-dispatch", line.allow_other_dispatch,
                   "Resumes also under another processor, libtorch or run.isa; bits may differ from there on");
  command.add_flag("--dry-run", line.dry_run, "Shows what would happen, and ends");
  add_backend_option(command, line);
  command.add_option("--dump-gradients", line.dump_gradients, "Writes gradients-UPDATE.safetensors into DIR")
      ->type_name("DIR");
  command.add_flag("--trace-ids", line.trace_ids, "Prints the sample ids of each rank and update");
}

void add_verify_options(CLI::App& command, CommandLine& line) {
  add_processes_option(command, line);
  command.add_option("--checkpoint", line.checkpoint, "Its weights, its config; default: the run's initial weights")
      ->type_name("PATH|latest");
  add_count(command, "--update", 1'000'000'000, "Which update's window; default: the first after the weights",
            [&line](std::int64_t update) { line.update = update; });
  command.add_option("--dump-gradients", line.dump_gradients, "Writes the processes' gradient into DIR, in both types")
      ->type_name("DIR");
}

/// The parts of a list with commas.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

void add_verify_resume_options(CLI::App& command, CommandLine& line) {
  constexpr std::int64_t kMostUpdates = 1'000'000'000;
  command
      .add_option_function<std::string>(
          "--stops",
          [&line](const std::string& text) { line.stops = parse_list("--stops", text, 1, kMostUpdates, "3,7"); },
          "Updates at which the training stops and is resumed")
      ->type_name("N,N,...");
  command
      .add_option_function<std::string>(
          "--worlds",
          [&line](const std::string& text) {
            line.worlds = parse_list("--worlds", text, 1, kMostLocalProcesses, "2,3,1");
          },
          "Processes before, between and after the stops; without --stops: of runs that are not stopped")
      ->type_name("N,N,...");
  add_count(command, "--updates", kMostUpdates, "Length of each run; default 12, or 4 past the last stop",
            [&line](std::int64_t count) { line.updates = count; });
  command
      .add_option_function<std::string>(
          "--backends,--backend", [&line](const std::string& text) { line.backends = split(text); },
          "How the processes talk; of several, each makes all runs; default run.backend")
      ->type_name("NAME,NAME,...");
  command.add_flag("--keep", line.keep, "Leaves its folder where all is equal, too");
}

void add_diagnose_options(CLI::App& command, CommandLine& line) {
  command.add_option("FILES", line.diagnose_files, "A, the suspect, and B, the reference")
      ->type_name("A.safetensors B.safetensors")
      ->expected(2);
  constexpr std::int64_t kMost = 1'000'000'000;
  add_count(command, "--world-size", kMost, "Processes of A's run",
            [&line](std::int64_t count) { line.world_size = count; });
  add_count(command, "--accumulation", kMost, "Microbatches of an update",
            [&line](std::int64_t count) { line.accumulation = count; });
  add_count(command, "--samples", kMost, "Samples of the update, over all processes; needs --rank-tokens",
            [&line](std::int64_t count) { line.samples = count; });
  const auto take_tokens = [&line](const std::string& text) {
    line.rank_tokens = parse_list("--rank-tokens", text, 0, 1'000'000'000'000'000, "12,36");
  };
  command
      .add_option_function<std::string>("--rank-tokens", take_tokens, "Supervised tokens of each process in the update")
      ->type_name("N,N,...");
  command
      .add_option_function<std::string>(
          "--rank-gradients", [&line](const std::string& text) { line.rank_gradients = split(text); },
          "By process, the gradient of its own mean loss")
      ->type_name("FILE,FILE,...");
}

void add_bisect_options(CLI::App& command, CommandLine& line) {
  command.add_option("RUNS", line.bisect_runs, "Folders of two runs, A and B; twice the same with --kind")
      ->type_name("RUN_A RUN_B")
      ->expected(2);
  const auto take_kinds = [&line](const std::string& text) {
    const std::vector<std::string> kinds = split(text);
    for (const std::string& kind : kinds) {
      if (kind != "stopped" && kind != "continuous" && kind != "resumed") {
        refuse_usage("--kind: '" + kind + "'; allowed: stopped, continuous, resumed, or two of them with a comma");
      }
    }
    if (kinds.size() > 2) refuse_usage("--kind: '" + text + "'; there are two runs: at most two kinds");
    line.bisect_kinds = {kinds.front(), kinds.back()};
  };
  command
      .add_option_function<std::string>("--kind", take_kinds,
                                        "The last run of this kind in each folder, or of these; default: the last run")
      ->type_name("KIND[,KIND]");
  command.add_flag_callback(
      "--no-replay", [&line] { line.replay = false; }, "Only compares what the runs recorded");
}

/// What the config says in the place of options; an option that is given counts more.
void take_from_config(const CLI::App& command, CommandLine& line) {
  if (line.config.empty() && line.overrides.empty()) return;
  for (const auto& [name, given] : option_values(line.config, line.overrides)) {
    const std::string& value = given.value;
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (value.empty() || option == nullptr || option->count() > 0) continue;
    if (name == "--nproc") {
      line.nproc = parse_number<std::int64_t>(given.said_by, value, 1, kMostLocalProcesses,
                                              "a whole number, 1 to " + std::to_string(kMostLocalProcesses));
      line.nproc_of_config = true;
    } else if (name == "--run") {
      line.run = value;
    } else if (name == "--resume") {
      line.resume = value;
    }
  }
}

void check_verify_resume(const CommandLine& line) {
  if (std::ranges::adjacent_find(line.stops, std::greater_equal<>()) != line.stops.end()) {
    refuse_usage("verify-resume: --stops: each must be after the one before, as in --stops 3,7");
  }
  if (!line.stops.empty() && !line.worlds.empty() && line.worlds.size() != line.stops.size() + 1) {
    refuse_usage("verify-resume: --worlds: " + std::to_string(line.worlds.size()) + " given; with " +
                 std::to_string(line.stops.size()) + " stops there are " + std::to_string(line.stops.size() + 1) +
                 " legs: give as many, or none");
  }
}

}  // namespace

void refuse_usage(const std::string& message) { throw InputError("usage", message); }

std::vector<std::int64_t> parse_list(const std::string& option, const std::string& text, std::int64_t least,
                                     std::int64_t most, const std::string& example) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split(text)) {
    numbers.push_back(parse_number<std::int64_t>(option, part, least, most,
                                                 "whole numbers, " + std::to_string(least) + " to " +
                                                     std::to_string(most) + ", with commas between, e.g. " + example));
  }
  return numbers;
}

void add_own_options(CLI::App& command, CommandLine& line) {
  const std::string& name = command.get_name();
  if (name == "train") {
    add_train_options(command, line);
  } else if (name == "evaluate" || name == "exercise") {
    add_processes_option(command, line);
  } else if (name == "launch") {
    add_launch_options(command, line);
    add_backend_option(command, line);
  } else if (name == "bisect") {
    add_bisect_options(command, line);
  } else if (name == "verify") {
    add_verify_options(command, line);
  } else if (name == "verify-resume") {
    add_verify_resume_options(command, line);
  } else if (name == "diagnose") {
    add_diagnose_options(command, line);
  } else if (name == "simulate") {
    add_simulate_options(command, line);
  } else if (name == "config") {
    command.add_option("--explain", line.explain, "Explains one key, another name of it, or a section")
        ->type_name("KEY");
  } else if (name == "env") {
    command.add_flag("--dual", line.dual, "Two processes really start, meet and exchange a tensor");
    command.add_flag("--measure-cost", line.measure_cost,
                     "Only times the model on samples of several lengths, for the costs of plan.balance lpt");
  } else if (name == "checkpoints") {
    command.add_option("PATH", line.checkpoint, "One checkpoint, or a folder of them; default: the run's");
  } else if (name == "status") {
    command.add_option("RUN", line.run, "The run's folder; default: this folder");
  } else if (name == "stop") {
    command.add_option("RUN", line.run, "The run's folder; default: this folder");
    add_count(command, "--grace", 86'400, "Seconds that its checkpoint may take; default 25",
              [&line](std::int64_t seconds) { line.grace_s = seconds; });
  } else if (name == "clean") {
    command.add_option("--scope", line.scope, "What to remove; today only `generated`")->type_name("SCOPE");
    command.add_flag("--dry-run", line.dry_run, "Shows what would be removed, and removes nothing");
  } else if (name == "generate") {
    command.add_option("--prompt", line.prompt, "Text to continue")->type_name("TEXT");
    add_count(command, "--max-tokens", 1'000'000, "Most tokens to add; default 200",
              [&line](std::int64_t count) { line.max_tokens = count; });
    const auto take = [&line](const std::string& text) {
      line.temperature = parse_number<double>("--temperature", text, 0, 1e6, "a number, 0 to 1000000");
    };
    command
        .add_option_function<std::string>("--temperature", take,
                                          "0 (default): always the likeliest token; 1: as the model says")
        ->type_name("T");
    command.add_option("--checkpoint", line.checkpoint, "Which model; default: the run's latest checkpoint")
        ->type_name("PATH");
  }
}

void check_own_options(const CLI::App& command, CommandLine& line) {
  line.run_given = command.count("--run") > 0;
  take_from_config(command, line);
  if (line.subcommand == "simulate") check_simulate_options(command, line);
  if (line.continuous) {
    if (command.count("--stop-at") > 0) {
      refuse_usage("train: --continuous and --stop-at; give one of them");
    }
    line.shorthands.emplace_back("--continuous");
  }
  if (line.stop_at > 0) {
    line.shorthands.push_back("--stop-at=" + std::to_string(line.stop_at));
  }
  line.overrides.insert(line.overrides.end(), line.shorthands.begin(), line.shorthands.end());
  if (line.subcommand == "clean" && line.scope != "generated") {
    refuse_usage(line.scope.empty() ? "clean: say what: --scope generated [--dry-run]"
                                    : "clean: --scope '" + line.scope + "'; allowed: only generated");
  }
  if (line.subcommand == "bisect" && line.bisect_runs.size() != 2) {
    refuse_usage("bisect: two folders are needed: samegrad bisect RUN_A RUN_B");
  }
  if (line.subcommand == "diagnose") {
    if (line.diagnose_files.size() != 2) {
      refuse_usage(
          "diagnose: two files are needed: samegrad diagnose A.safetensors B.safetensors, the suspect and the "
          "reference");
    }
    if (line.samples > 0 && line.rank_tokens.empty()) {
      refuse_usage("diagnose: --samples without --rank-tokens; both are needed for a count before the shift");
    }
  }
  if (line.subcommand == "verify-resume") {
    check_verify_resume(line);
  }
  if (line.subcommand == "launch" && (line.nproc == 0 || line.program.empty())) {
    refuse_usage(std::string("launch: no ") + (line.nproc == 0 ? "number of processes" : "program") +
                 " given: samegrad launch --nproc N -- PROGRAM ARGUMENTS");
  }
  if (line.subcommand == "launch" && line.program.front().empty()) {
    refuse_usage("launch: the program's name is empty: samegrad launch --nproc N -- PROGRAM ARGUMENTS");
  }
  if (line.subcommand == "launch" || line.subcommand == "train") {
    check_launch_options(line);
  }
}

}  // namespace samegrad
