// A training from its start point to its last update: the loop around train/trainer.h, with everything that touches the
// disk or the screen.
#pragma once

#include <optional>
#include <string>

#include "apps/samegrad/command_line.h"
#include "apps/samegrad/late_stop.h"
#include "apps/samegrad/run_context.h"
#include "apps/samegrad/start_point.h"
#include "apps/samegrad/training_log.h"
#include "samegrad/checkpoint/async_save.h"
#include "samegrad/train/trainer.h"

namespace samegrad {

class TrainingRun {
 public:
  /// `progress` is kept up to date.
  TrainingRun(RunContext& context, const CommandLine& command, StartPoint start, TrainingProgress& progress);

  /// Trains to the stop or the end, saves, and returns the exit code: 0, or 128 + signal after a signal's checkpoint.
  /// Throws the same error on every rank. Collective.
  int run();

 private:
  bool nothing_left() const;
  void open_log();
  void show_header() const;
  void show_notes() const;
  UpdateResult one_update();
  void dump_gradient(std::span<const float> gradient);
  std::optional<Evaluation> validation_due(std::int64_t update);
  /// Returns when the checkpoint is on the disk; with `train_on` under checkpoint.async, when it has been copied.
  void save(bool train_on = false);
  void save_final_parameters(bool replace);
  int agreed_signal();
  void show_summary(const std::string& outcome);

  RunContext* context_;
  const CommandLine* command_;
  std::string run_id_;
  std::optional<std::filesystem::path> resumed_from_;
  Trainer trainer_;
  std::int64_t first_update_;
  std::int64_t last_update_;
  std::string kind_;
  RunLegs legs_;     // of the leader
  std::string leg_;  // this one
  std::optional<TrainingLog> log_;
  TrainingProgress* progress_;
  std::int64_t saved_update_ = -1;  // or being saved
  AsyncSave async_save_;            // last: it waits for the save in flight, which uses the others
};

}  // namespace samegrad
