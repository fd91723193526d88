// One update of training: state in, state out. Never saves, never prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/comm/communicator.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/ddp/data_parallel.h"
#include "samegrad/model/model.h"
#include "samegrad/plan/update_plan.h"
#include "samegrad/train/train_state.h"
#include "samegrad/train/window_ahead.h"

namespace samegrad {

/// One rank's part of an update.
struct RankShare {
  std::int64_t supervised_tokens = 0;
  std::int64_t input_tokens = 0;
  WindowSeconds seconds;
  ExchangeVolume volume;              ///< of the gradient's exchange
  std::int64_t gradient_buffers = 0;  ///< that the rank has made so far in this process
};

/// What a rank wants of an update beside the update.
struct UpdateWishes {
  bool stop = false;  ///< all ranks stop before it
  bool save = false;  ///< UpdateResult::save_asked
  /// One more update will be wanted: under data.prefetch its window is built while this one computes.
  bool another_follows = false;
  /// What it throws on a rank refuses the window on all.
  std::function<void()> first = {};
  /// Sees the plan's window before its agreement.
  std::function<void(const PlanWindow&)> on_window = {};
  /// Sees the reduced flat gradient before clipping.
  std::function<void(std::span<const float>)> on_gradient = {};
};

struct UpdateResult {
  std::int64_t update = 0;
  std::int64_t epoch = 0;
  WindowAction action = WindowAction::kTrain;
  LossSum loss;                        ///< S and N of the objective over the window, global
  std::int64_t supervised_tokens = 0;  ///< of the window, global
  std::vector<TermLoss> terms;         ///< where the objective has several, all of them, with their coefficients
  bool save_asked = false;             ///< by any rank
  bool stepped = false;                ///< false: nothing moved (skipped window or non-finite gradient)
  double gradient_norm = 0.0;          ///< of S/N's gradient, before clipping
  double clip_factor = 1.0;
  double learning_rate = 0.0;
  std::string gradient_hash;    ///< of the gradient before clipping
  std::string parameters_hash;  ///< after the step
  std::string hash_chain;       ///< after the update (train/hash_chain.h)
  double seconds = 0.0;
  std::vector<RankShare> ranks;  ///< by rank; the same on every rank
};

class Trainer {
 public:
  /// `digest` of plan and config, at most 64 characters, is agreed on before each window. References must outlive the
  /// trainer; `train` and `plan` are shared with a thread that builds a window ahead, so nobody else may ask `plan` for
  /// windows after an update with UpdateWishes::another_follows. Throws as DataParallel does. Collective.
  Trainer(const RunConfig& config, const std::shared_ptr<const SampleSource>& train,
          std::shared_ptr<const UpdatePlan> plan, Communicator& comm, std::string digest, TrainState state);

  const TrainState& state() const { return state_; }
  TrainState& state() { return state_; }
  const Model& model() const { return *model_; }

  /// The next window: agreement, forward and backward of this rank's atoms, exchange, step. kStop leaves everything
  /// untouched, and so does a refusal, which throws the same error on every rank. A non-finite gradient under
  /// `non_finite: error` throws the same RunError on every rank, nothing stepped. Collective.
  UpdateResult train_update(const UpdateWishes& wishes = {});

 private:
  void step(UpdateResult& result, Window& window);
  void pass(UpdateResult& result, const PlanWindow& plan_window);
  void gather_shares(UpdateResult& result, const RankShare& mine);

  const RunConfig* config_;
  std::shared_ptr<const UpdatePlan> plan_;
  Communicator* comm_;
  AtomRange range_;  // of this rank
  WindowAhead windows_;
  bool builds_ahead_;
  std::string digest_;
  std::chrono::milliseconds timeout_;
  TrainState state_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<DataParallel> ddp_;
};

}  // namespace samegrad
