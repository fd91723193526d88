// A run computed again by one process from its own state, beside what it recorded of itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/samegrad/prepare_run.h"
#include "apps/samegrad/run_origin.h"
#include "samegrad/comm/single_communicator.h"
#include "samegrad/report/bisection.h"
#include "samegrad/report/run_record.h"
#include "samegrad/train/trainer.h"

namespace samegrad {

class ReplayedRun {
 public:
  /// Opens data and plan of the run in `paths` and takes the state of `origin`. Writes nothing. Throws InputError or
  /// CheckError where data is missing or another than the run's, or the state does not fit the config. Local.
  ReplayedRun(RunOrigin origin, const RunPaths& paths, const RecordedRun& record);
  ReplayedRun(const ReplayedRun&) = delete;
  ReplayedRun& operator=(const ReplayedRun&) = delete;

  /// One update, compared with its record. `on_gradient` sees the gradient before clipping. Throws as Trainer. Local.
  UpdateResult step(const std::function<void(std::span<const float>)>& on_gradient = {});

  const RunConfig& config() const { return config_; }
  const OpenedRun& opened() const { return run_; }
  const Trainer& trainer() const { return *trainer_; }
  std::int64_t update() const { return trainer_->state().update; }
  /// What it started from, as a person reads it.
  const std::string& started_from() const { return started_from_; }
  std::int64_t updates_replayed() const { return updates_replayed_; }
  const std::optional<Unreproduced>& unreproduced() const { return unreproduced_; }

 private:
  void compare_with_record(std::int64_t update, const RecordedUpdate& computed);

  RunConfig config_;
  const RecordedRun* record_;
  OpenedRun run_;
  SingleCommunicator comm_;
  std::unique_ptr<Trainer> trainer_;
  std::string started_from_;
  std::int64_t updates_replayed_ = 0;
  std::optional<Unreproduced> unreproduced_;
};

}  // namespace samegrad
