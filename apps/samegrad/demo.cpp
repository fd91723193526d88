// `samegrad demo`: the whole lesson, step by step, each step the command that a person would type.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "apps/samegrad/commands.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

struct Step {
  const char* what;
  std::vector<std::string> arguments;
};

std::vector<Step> lesson_steps() {
  return {{"nothing has to be acquired", {"acquire"}},
          {"the environment, and two workers that meet", {"env", "--dual"}},
          {"data, plan and initial weights", {"prepare"}},
          {"the gradient that one process gets", {"reference"}},
          {"why a mean of means is wrong", {"check-loss"}},
          {"two processes train to update 50 and stop", {"train", "--nproc", "2"}},
          {"two processes train to update 100 without a stop", {"train", "--nproc", "2", "--continuous"}},
          {"the stopped run goes on from 50 to 100",
           {"train", "--nproc", "2", "--resume", "artifacts/checkpoints/step-0050"}},
          {"the exercise", {"exercise"}},
          {"the checkpoints, verified", {"checkpoints"}},
          {"what was generated (nothing is removed)", {"clean", "--scope", "generated", "--dry-run"}},
          {"every check of the lesson", {"evaluate"}},
          {"the first window's gradient in two precisions", {"verify"}},
          {"figures", {"plot"}}};
}

// Runs this very program with other arguments, in the run's folder; returns its exit code.
int run_step(const Step& step, const CommandLine& command) {
  std::vector<std::string> words{"samegrad"};
  words.insert(words.end(), step.arguments.begin(), step.arguments.end());
  if (!command.config.empty()) words.insert(words.end(), {"--config", std::filesystem::absolute(command.config)});
  for (const std::string& set : command.overrides) words.insert(words.end(), {"--set", set});
  std::vector<char*> raw;
  raw.reserve(words.size() + 1);
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, command.run.c_str());
  pid_t child = 0;
  const int problem = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) throw RunError("demo", std::string(step.what) + ": cannot start: " + std::strerror(problem));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int run_demo(const CommandLine& command) {
  const std::vector<Step> steps = lesson_steps();
  std::filesystem::create_directories(command.run);
  std::cout << "the lesson in " << steps.size() << " steps, in " << std::filesystem::absolute(command.run).string()
            << "\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::cout << "\n== " << i + 1 << "/" << steps.size() << ": " << steps[i].what << "\n== samegrad";
    for (const std::string& word : steps[i].arguments) std::cout << " " << word;
    std::cout << "\n" << std::flush;
    const auto start = std::chrono::steady_clock::now();
    const int exit_code = run_step(steps[i], command);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << "== " << std::fixed << std::setprecision(1) << seconds << " s\n" << std::flush;
    if (exit_code != 0) {
      std::cout << "the lesson ends here: step " << i + 1 << " (" << steps[i].what << ") ended with exit code "
                << exit_code << "\n";
      return exit_code;
    }
  }
  std::cout << "\nthe lesson is done: all checks are as they must be\n"
            << "report: outputs/report.json, figures: outputs/figures\n";
  return 0;
}

}  // namespace samegrad
