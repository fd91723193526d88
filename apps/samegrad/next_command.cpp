#include "apps/samegrad/next_command.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"

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

/// What a training was given, and what a launcher beside it decided.
std::vector<std::string> words_of(const CommandLine& command) {
  std::vector<std::string> words = without_option(command.given, "--resume");
  const WorkerEnvironment launched = read_worker_environment();
  if (command.nproc == 0 && launched.world_size > 1 && launched.local_world_size == launched.world_size) {
    words.insert(words.begin(), {"--nproc", std::to_string(launched.world_size)});
  }
  return words;
}

/// The number after `option`, or 0.
std::int64_t number_given(const std::vector<std::string>& words, const std::string& option) {
  std::string text;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (word->starts_with(option + "=")) text = word->substr(option.size() + 1);
    if (*word == option && word + 1 != words.end()) text = *(word + 1);
  }
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string resume_command(const std::vector<std::string>& given, std::int64_t update) {
  const std::int64_t stop_at = number_given(given, "--stop-at");
  if (stop_at == 0 || stop_at > update) return shell_command("train --resume latest", given);
  std::vector<std::string> words = without_option(given, "--stop-at");
  words.emplace_back("--continuous");
  return shell_command("train --resume latest", words);
}

}  // namespace

std::vector<std::string> same_run(const CommandLine& command) {
  std::vector<std::string> words;
  if (command.nproc > 0) words.insert(words.end(), {"--nproc", std::to_string(command.nproc)});
  if (command.run != ".") words.insert(words.end(), {"--run", command.run});
  if (!command.config.empty()) words.insert(words.end(), {"--config", command.config});
  const std::size_t own = command.overrides.size() - command.shorthands.size();
  for (std::size_t i = 0; i < own; ++i) words.insert(words.end(), {"--set", command.overrides[i]});
  // Options of `train` that stand for a key.
  if (command.continuous) words.insert(words.end(), {"--set", "plan.stop_at=0"});
  if (command.stop_at > 0) words.insert(words.end(), {"--set", "plan.stop_at=" + std::to_string(command.stop_at)});
  constexpr std::string_view kBackend = "--backend=";
  for (const std::string& word : command.shorthands) {
    if (word.starts_with(kBackend)) words.insert(words.end(), {"--set", "run.backend=" + word.substr(kBackend.size())});
  }
  return words;
}

std::vector<std::string> without_option(std::vector<std::string> words, std::string_view option) {
  const std::string joined = std::string(option) + "=";
  for (auto word = words.begin(); word != words.end();) {
    const bool separate = *word == option && word + 1 != words.end();
    word = word->starts_with(joined) ? words.erase(word) : separate ? words.erase(word, word + 2) : word + 1;
  }
  return words;
}

std::string shell_command(const std::string& verb, const std::vector<std::string>& words) {
  std::string text = "samegrad " + verb;
  for (const std::string& word : words) text += " " + quoted(word);
  return text;
}

Json command_to_json(const CommandLine& command) {
  return {{"folder", this_folder()}, {"arguments", words_of(command)}};
}

std::string resume_command(const CommandLine& command, std::int64_t update) {
  return resume_command(words_of(command), update);
}

std::string resume_command(const RunPaths& paths, std::int64_t update) {
  const std::optional<StartedBy> started = started_by(paths);
  if (!started) return shell_command("train --resume latest", {"--run", paths.run.string()});
  const std::string command = resume_command(started->arguments, update);
  return started->folder == this_folder() ? command : "cd " + quoted(started->folder) + " && " + command;
}

}  // namespace samegrad
