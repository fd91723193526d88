// What a person sees of a training run, as text. Pure: the program prints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "samegrad/objective/loss_sum.h"
#include "samegrad/plan/cost_balance.h"
#include "samegrad/report/text_style.h"

namespace samegrad {

/// What will happen, before it does.
struct RunHeader {
  std::string run_id{};
  std::string action{};  ///< e.g. "train, stop at update 50", "resume from artifacts/checkpoints/step-0050"
  std::string model{};   ///< e.g. "encoder, 2 layers, width 128, 4 heads, feed-forward 256, from scratch"
  std::int64_t parameters = 0;
  std::string data{};       ///< e.g. "lesson, 1,024 sequences"
  std::string objective{};  ///< e.g. "unit token: N is the window's supervised tokens"
  std::string optimizer{};  ///< e.g. "sgd, learning rate 0.1, constant"
  std::int64_t first_update = 1;
  std::int64_t last_update = 0;          ///< of this invocation
  std::int64_t total_updates = 0;        ///< of the whole run
  std::int64_t atoms = 0;                ///< per window
  std::int64_t samples_per_atom = 0;     ///< where they are balanced: on average
  bool balanced = false;                 ///< plan.balance is not none
  CostBalance cost{};                    ///< of the first window to come
  std::int64_t first_window_tokens = 0;  ///< supervised ones in the first window to come
  std::int64_t world_size = 1;
  std::string transport{};  ///< e.g. "shm", "single"
  std::string device = "cpu";
  std::string kernels{};  ///< e.g. "ATen AVX512, MKL AVX2 (AUTO)"
  std::vector<std::pair<std::string, std::string>>
      places{};  ///< what -> path, e.g. "metrics" -> "outputs/metrics.jsonl"
};

/// The lines of the header, each ended by a newline. Local.
std::string header_text(const RunHeader& header, const TextStyle& style);

/// One update as the progress shows it.
struct Progress {
  std::int64_t update = 0;
  std::int64_t last_update = 0;
  LossSum loss{};  ///< of the window, over all ranks
  double gradient_norm = 0.0;
  double learning_rate = 0.0;
  double tokens_per_second = 0.0;  ///< supervised ones
  double seconds_left = 0.0;
  bool stepped = true;  ///< false: skipped, nothing moved
};

/// One line without its end; `norm` is the gradient's, before clipping. At most 100 cells for numbers of a usual size.
/// Local.
std::string progress_line(const Progress& progress);

/// Whether `update` gets a line of its own where the output is no terminal: the first, the last, and every `every`-th
/// (0: the first and the last only). Local.
bool progress_line_due(std::int64_t update, std::int64_t first_update, std::int64_t last_update, std::int64_t every);

/// What one rank did over the whole invocation.
struct RankWork {
  std::int64_t supervised_tokens = 0;
  double compute_seconds = 0.0;
  double wait_seconds = 0.0;
  double exchange_seconds = 0.0;
};

/// A row a rank: tokens, share, seconds of compute, wait, exchange. `ranks` by rank. Local.
std::string rank_work_table(std::span<const RankWork> ranks, const TextStyle& style);

/// What was done.
struct RunSummary {
  std::string outcome{};  ///< e.g. "finished", "stopped by SIGTERM"
  std::int64_t first_update = 1;
  std::int64_t update = 0;  ///< reached
  std::int64_t total_updates = 0;
  std::int64_t skipped_windows = 0;
  LossSum first_loss{};
  LossSum last_loss{};
  std::int64_t supervised_tokens = 0;
  double seconds = 0.0;
  std::vector<RankWork> ranks{};
  std::vector<std::pair<std::string, std::string>> places{};  ///< what -> path
  std::string next{};                                         ///< a command to type next; empty: none
};

/// The lines of the summary, each ended by a newline. Local.
std::string summary_text(const RunSummary& summary, const TextStyle& style);

}  // namespace samegrad
