#include "tests/multiproc/forked_training.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "apps/samegrad/command_line.h"
#include "apps/samegrad/commands.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/comm/environment.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/launch/pinned_environment.h"
#include "samegrad/report/metrics.h"

namespace samegrad {
namespace {

[[noreturn]] void become_rank(int rank, std::int64_t processes, int shared_memory,
                              const std::vector<std::string>& words) {
  setenv(kRankVariable, std::to_string(rank).c_str(), 1);
  setenv(kLocalRankVariable, std::to_string(rank).c_str(), 1);
  setenv(kWorldSizeVariable, std::to_string(processes).c_str(), 1);
  setenv(kLocalWorldSizeVariable, std::to_string(processes).c_str(), 1);
  setenv(kSharedMemoryVariable, std::to_string(shared_memory).c_str(), 1);
  int exit_code = 1;
  try {
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    set_log_quiet(true);
    exit_code = run_train(parse_command_line(static_cast<int>(arguments.size()), arguments.data()));
  } catch (const std::exception& error) {
    log_error(error.what());
  }
  _exit(exit_code);
}

void train(std::int64_t processes, const std::vector<std::string>& words) {
  const int shared_memory = create_shared_memory(static_cast<int>(processes));
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < processes; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) become_rank(rank, processes, shared_memory, words);
    ranks.push_back(pid);
  }
  close(shared_memory);
  for (const pid_t pid : ranks) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace

Settings tiny_model() {
  return {"model.layers=1",       "model.width=8",      "model.heads=2",
          "model.feed_forward=8", "model.positions=32", "run.timeout_s=60"};
}

void ForkedTraining::SetUp() {
  TemporaryFolder::SetUp();
  for (const auto& [name, value] : pinned_environment({})) setenv(name.c_str(), value.c_str(), 1);
}

Settings ForkedTraining::ten_samples() const {
  std::string text;
  for (std::size_t i = 0; i < 10; ++i)
    text += R"({"text": ")" + std::string(4 + 2 * i, 'a') + std::to_string(i) + "\"}\n";
  const std::string path = (folder_ / "data.jsonl").string();
  write(path, text);
  return {"data.task=text", "data.train=" + path, "data.validation=" + path, "model.kind=decoder",
          "model.vocabulary=256"};
}

UpdateLines ForkedTraining::lines_of(const std::vector<ResumeLeg>& legs, const Settings& settings) {
  const RunPaths paths(folder_);
  for (std::size_t leg = 0; leg < legs.size(); ++leg) {
    std::vector<std::string> words{"samegrad", "train", "--quiet", "--run", folder_.string()};
    for (const std::string& set : settings) words.insert(words.end(), {"--set", set});
    words.insert(words.end(), {"--stop-at", std::to_string(legs[leg].last_update)});
    if (leg > 0) {
      const std::string step = step_folder_name(legs[leg - 1].last_update);
      words.insert(words.end(), {"--resume", (paths.checkpoints / step).string()});
    }
    train(legs[leg].processes, words);
  }
  const std::vector<Json> lines = read_metrics(paths.metrics);
  std::filesystem::remove(paths.metrics);
  EXPECT_EQ(lines.back().at("ranks").size(), static_cast<std::size_t>(legs.back().processes));
  return lines_of_run(lines, lines.back().at("run_id").get<std::string>());
}

}  // namespace samegrad
