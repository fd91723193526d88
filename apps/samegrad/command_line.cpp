#include "apps/samegrad/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>

#include "apps/samegrad/command_options.h"
#include "apps/samegrad/command_topics.h"
#include "apps/samegrad/launch_options.h"
#include "samegrad/base/nearest_name.h"

namespace samegrad {
namespace {

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

bool is_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

[[noreturn]] void refuse_leftover(const CLI::App& command, const std::vector<std::string>& leftover) {
  if (command.get_name() == "launch" && !is_option(leftover.front())) {
    refuse_usage("launch: '" + leftover.front() + "' without -- before it: samegrad launch --nproc N -- " +
                 leftover.front());
  }
  const auto option = std::find_if(leftover.begin(), leftover.end(), is_option);
  const std::string help = "; `samegrad " + command.get_name() + " --help` lists what it takes";
  if (option == leftover.end()) {
    refuse_usage(command.get_name() + ": unexpected argument '" + leftover.front() + "'" + help);
  }
  std::vector<std::string> known;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& name : each->get_lnames()) {
      known.push_back("--" + name);
    }
  }
  const std::string name = option->substr(0, option->find('='));
  if (command.get_name() == "launch") {
    if (const std::optional<std::string> why = why_not_of_torchrun(name)) {
      refuse_usage("launch: " + name + ": " + *why);
    }
  }
  refuse_usage(command.get_name() + ": unknown option '" + name + "'" + suggestion(name, known) + help);
}

[[noreturn]] void refuse_early_option(const std::string& name) {
  refuse_usage("option '" + name + "' before the command; options come after it: samegrad COMMAND " + name);
}

[[noreturn]] void refuse_without_command(const std::vector<std::string>& leftover) {
  if (leftover.empty()) {
    refuse_usage("no command given; `samegrad --help` lists them, `samegrad demo` shows the whole lesson");
  }
  const std::string& name = leftover.front();
  if (is_option(name)) {
    refuse_early_option(name);
  }
  std::vector<std::string> known;
  for (const CommandTopic& topic : command_topics()) {
    known.push_back(topic.name);
  }
  refuse_usage("unknown command '" + name + "'" + suggestion(name, known) + "; `samegrad --help` lists them");
}

/// An unset variable of a shell gives one: what it stands for would silently be the default.
void refuse_empty_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (name == "--prompt" || option->count() == 0) continue;
    if (std::ranges::find(option->results(), std::string()) != option->results().end()) {
      refuse_usage(command.get_name() + ": " + name + ": ''; give a value" +
                   (name == "--run" ? ", '.' is this folder" : "") + ", or leave it out");
    }
  }
}

/// What CLI11 says, on one line.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  if (argc > 1 && argv[1] == std::string_view("launch")) {
    // What follows -- is another program's.
    const char* const* const own_end = std::find(argv, argv + argc, std::string_view("--"));
    line.program.assign(std::min(own_end + 1, argv + argc), argv + argc);
    argc = static_cast<int>(own_end - argv);
  }
  line.given.assign(argv + std::min(argc, 2), argv + argc);
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
    if (app.get_subcommands().empty() && !app.remaining().empty()) {
      refuse_without_command(app.remaining());
    }
    line.help = app.help();  // of the subcommand, if one was named
    return line;
  } catch (const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    refuse_usage((parsed.empty() ? "" : parsed.front()->get_name() + ": ") + one_line(error.what()));
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
  refuse_empty_values(command);
  check_own_options(command, line);
  return line;
}

}  // namespace samegrad
