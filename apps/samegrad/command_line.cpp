#include "apps/samegrad/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "apps/samegrad/command_topics.h"
#include "samegrad/base/error.h"
#include "samegrad/base/nearest_name.h"
#include "samegrad/comm/environment.h"

namespace samegrad {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw InputError("usage", message); }

template <typename Number>
Number parse_number(const std::string& option, const std::string& text, Number least, Number most,
                    const std::string& allowed) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole_text = error == std::errc{} && end == text.data() + text.size();
  // A NaN is not between the two.
  if (!whole_text || !(value >= least && value <= most)) {
    refuse(option + ": '" + text + "'; allowed: " + allowed);
  }
  return value;
}

void add_count(CLI::App& command, const std::string& names, std::int64_t most, const std::string& description,
               const std::function<void(std::int64_t)>& take) {
  const std::string option = names.substr(0, names.find(','));
  const auto parse = [=](const std::string& text) {
    take(parse_number<std::int64_t>(option, text, 1, most, "a whole number, 1 to " + std::to_string(most)));
  };
  command.add_option_function<std::string>(names, parse, description)->type_name("N");
}

void add_common_options(CLI::App& command, CommandLine& line) {
  const std::string group = "Options of every command";
  command.add_option("--config", line.config, "YAML file; without it, the lesson (configs/minimum.yaml)")
      ->type_name("FILE")
      ->group(group);
  // One value each: a list would swallow what follows.
  command.add_option("--set", line.overrides, "Sets one configuration key (`samegrad config` lists them)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--run", line.run, "Folder with the run's outputs/ and artifacts/; default: this folder")
      ->type_name("DIR")
      ->group(group);
  command.add_flag("--quiet", line.quiet, "No news, only results, warnings and errors")->group(group);
  command.set_help_flag("-h,--help", "Shows this")->group(group);
}

void add_processes_option(CLI::App& command, CommandLine& line) {
  add_count(command, "--nproc,--num_processes,--num-processes", kMostLocalProcesses, "Starts N processes on this host",
            [&line](std::int64_t count) { line.nproc = count; });
}

void add_train_options(CLI::App& command, CommandLine& line) {
  add_processes_option(command, line);
  add_count(command, "--stop-at", 1'000'000'000, "Ends at this update with a checkpoint (plan.stop_at)",
            [&line](std::int64_t update) { line.shorthands.push_back("plan.stop_at=" + std::to_string(update)); });
  command.add_flag("--continuous", line.continuous, "Trains to the last update without a stop (plan.stop_at=0)");
  command.add_option("--resume", line.resume, "Goes on from a checkpoint; auto: from the latest, or starts")
      ->type_name("PATH|latest|auto");
  command.add_flag("--dry-run", line.dry_run, "Shows what would happen, and ends");
  command
      .add_option_function<std::string>(
          "--backend", [&line](const std::string& name) { line.shorthands.push_back("run.backend=" + name); },
          "How the processes talk (run.backend)")
      ->type_name("NAME");
  command.add_option("--dump-gradients", line.dump_gradients, "Writes gradients-UPDATE.safetensors into DIR")
      ->type_name("DIR");
  command.add_flag("--trace-ids", line.trace_ids, "Prints the sample ids of each rank and update");
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
    for (const std::string& part : split(text)) {
      line.rank_tokens.push_back(parse_number<std::int64_t>("--rank-tokens", part, 0, 1'000'000'000'000'000,
                                                            "whole numbers with commas between, e.g. 12,36"));
    }
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

void add_own_options(CLI::App& command, CommandLine& line) {
  const std::string& name = command.get_name();
  if (name == "train") {
    add_train_options(command, line);
  } else if (name == "evaluate" || name == "exercise") {
    add_processes_option(command, line);
  } else if (name == "diagnose") {
    add_diagnose_options(command, line);
  } else if (name == "env") {
    command.add_flag("--dual", line.dual, "Two processes really start, meet and exchange a tensor");
  } else if (name == "checkpoints") {
    command.add_option("PATH", line.checkpoint, "One checkpoint, or a folder of them; default: the run's");
  } else if (name == "clean") {
    command.add_option("--scope", line.scope, "What to remove; today only `generated`")->type_name("SCOPE");
    command.add_flag("--dry-run", line.dry_run, "Shows what would be removed, and removes nothing");
  } else if (name == "generate") {
    command.add_option("--prompt", line.prompt, "Text to continue")->type_name("TEXT");
    add_count(command, "--max-tokens", 1'000'000, "Most tokens to add; default 200",
              [&line](std::int64_t count) { line.max_tokens = count; });
    const auto take = [&line](const std::string& text) {
      line.temperature = parse_number<double>("--temperature", text, 0, 1e6, "a number, at least 0");
    };
    command
        .add_option_function<std::string>("--temperature", take,
                                          "0 (default): always the likeliest token; 1: as the model says")
        ->type_name("T");
    command.add_option("--checkpoint", line.checkpoint, "Which model; default: the run's latest checkpoint")
        ->type_name("PATH");
  }
}

bool is_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

[[noreturn]] void refuse_leftover(const CLI::App& command, const std::vector<std::string>& leftover) {
  const auto option = std::find_if(leftover.begin(), leftover.end(), is_option);
  const std::string help = "; `samegrad " + command.get_name() + " --help` lists what it takes";
  if (option == leftover.end()) {
    refuse(command.get_name() + ": unexpected argument '" + leftover.front() + "'" + help);
  }
  std::vector<std::string> known;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& name : each->get_lnames()) {
      known.push_back("--" + name);
    }
  }
  const std::string name = option->substr(0, option->find('='));
  refuse(command.get_name() + ": unknown option '" + name + "'" + suggestion(name, known) + help);
}

[[noreturn]] void refuse_early_option(const std::string& name) {
  refuse("option '" + name + "' before the command; options come after it: samegrad COMMAND " + name);
}

[[noreturn]] void refuse_without_command(const std::vector<std::string>& leftover) {
  if (leftover.empty()) {
    refuse("no command given; `samegrad --help` lists them, `samegrad demo` shows the whole lesson");
  }
  const std::string& name = leftover.front();
  if (is_option(name)) {
    refuse_early_option(name);
  }
  std::vector<std::string> known;
  for (const CommandTopic& topic : command_topics()) {
    known.push_back(topic.name);
  }
  refuse("unknown command '" + name + "'" + suggestion(name, known) + "; `samegrad --help` lists them");
}

/// What CLI11 says, on one line.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void check_combinations(const CLI::App& command, CommandLine& line) {
  if (line.continuous) {
    if (command.count("--stop-at") > 0) {
      refuse("train: --continuous and --stop-at; give one of them");
    }
    line.shorthands.emplace_back("plan.stop_at=0");
  }
  line.overrides.insert(line.overrides.end(), line.shorthands.begin(), line.shorthands.end());
  if (line.subcommand == "clean" && line.scope != "generated") {
    refuse(line.scope.empty() ? "clean: say what: --scope generated [--dry-run]"
                              : "clean: --scope '" + line.scope + "'; allowed: only generated");
  }
  if (line.subcommand == "diagnose") {
    if (line.diagnose_files.size() != 2) {
      refuse(
          "diagnose: two files are needed: samegrad diagnose A.safetensors B.safetensors, the suspect and the "
          "reference");
    }
    if (line.samples > 0 && line.rank_tokens.empty()) {
      refuse("diagnose: --samples without --rank-tokens; both are needed for a count before the shift");
    }
  }
  if (line.run.empty()) {
    refuse("--run: ''; a folder is needed, '.' is this one");
  }
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app("samegrad: the same gradient, the same bits, on any number of processes.", "samegrad");
  app.footer(overview_footer);
  app.set_help_flag("-h,--help", "Shows this");
  app.allow_extras();
  bool version = false;
  app.add_flag("--version", version, "The same as `samegrad version`");
  app.require_subcommand(0, 1);
  for (const CommandTopic& topic : command_topics()) {
    CLI::App& command = *app.add_subcommand(topic.name, topic.summary);
    command.footer([&topic] { return topic_footer(topic); });
    command.allow_extras();
    add_own_options(command, line);
    if (topic.prints_results) {
      command.add_flag("--json", line.json, "Prints the results as JSON");
    }
    add_common_options(command, line);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.help = app.help();  // of the subcommand, if one was named
    return line;
  } catch (const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    refuse((parsed.empty() ? "" : parsed.front()->get_name() + ": ") + one_line(error.what()));
  }

  const auto parsed = app.get_subcommands();
  if (parsed.empty()) {
    if (!version) {
      refuse_without_command(app.remaining());
    }
    line.subcommand = "version";
    return line;
  }
  const CLI::App& command = *parsed.front();
  line.subcommand = command.get_name();
  if (const auto early = app.remaining(); !early.empty() && is_option(early.front())) {
    refuse_early_option(early.front());
  }
  if (const auto leftover = app.remaining(/*recurse=*/true); !leftover.empty()) {
    refuse_leftover(command, leftover);
  }
  check_combinations(command, line);
  return line;
}

}  // namespace samegrad
