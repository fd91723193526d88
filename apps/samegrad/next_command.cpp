#include "apps/samegrad/next_command.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

/// A word as a shell reads it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string this_folder() {
  std::error_code gone;
  return std::filesystem::current_path(gone).string();
}

struct StartedBy {
  std::string folder;
  std::vector<std::string> arguments;
};

/// What command_to_json() wrote; nothing where the file is older, or not as it was written.
std::optional<StartedBy> started_by(const RunPaths& paths) {
  try {
    const Json command = read_json_file(paths.current_run, "run").at("command");
    StartedBy found{command.at("folder").get<std::string>(), command.at("arguments").get<std::vector<std::string>>()};
    return found;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> same_run(const CommandLine& command) {
  std::vector<std::string> words;
  if (command.nproc > 0) words.insert(words.end(), {"--nproc", std::to_string(command.nproc)});
  if (command.run != ".") words.insert(words.end(), {"--run", command.run});
  if (!command.config.empty()) words.insert(words.end(), {"--config", command.config});
  const std::size_t own = command.overrides.size() - command.shorthands.size();
  for (std::size_t i = 0; i < own; ++i) words.insert(words.end(), {"--set", command.overrides[i]});
  return words;
}

std::string shell_command(const std::string& verb, const std::vector<std::string>& words) {
  std::string text = "samegrad " + verb;
  for (const std::string& word : words) text += " " + quoted(word);
  return text;
}

Json command_to_json(const CommandLine& command) {
  return {{"folder", this_folder()}, {"arguments", same_run(command)}};
}

std::string resume_command(const RunPaths& paths) {
  const std::optional<StartedBy> started = started_by(paths);
  if (!started) return shell_command("train --resume latest", {"--run", paths.run.string()});
  const std::string command = shell_command("train --resume latest", started->arguments);
  return started->folder == this_folder() ? command : "cd " + quoted(started->folder) + " && " + command;
}

}  // namespace samegrad
