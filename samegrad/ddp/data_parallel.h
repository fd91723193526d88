// What DistributedDataParallel does, whatever the type of the wrapped module is: the model's tensors, what happens
// around a forward, scopes, windows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/comm/world.h"
#include "samegrad/ddp/comm_hook.h"
#include "samegrad/ddp/ddp_options.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/ddp/model_form.h"
#include "samegrad/ddp/model_window.h"
#include "samegrad/ddp/named_tensor.h"
#include "samegrad/ddp/parameter_claims.h"
#include "samegrad/ddp/parameter_set.h"
#include "samegrad/ddp/reducer.h"

namespace samegrad {

/// The same on all ranks, which compare them.
struct JoinOptions {
  /// The mean stays over all ranks, also those out of data, as in PyTorch; false: over those that had data.
  bool divide_by_initial_world_size = true;
  /// A rank out of data ends the loop of all others by an error, instead of taking part with zeros.
  bool throw_on_early_termination = false;
};

class DataParallel;

/// Gradients of backward passes stay this rank's own while it lives. Covers forward and backward: the forward decides.
class [[nodiscard]] NoSync {
 public:
  explicit NoSync(DataParallel& owner);
  ~NoSync();
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;

 private:
  std::weak_ptr<DataParallel> owner_;  // may be gone first
};

class DataParallel {
 public:
  /// `read_model` gives the model's tensors as they are now; `mark_parameters` a number that is another one after a
  /// change of its parameters, at less cost (it runs before each forward; empty: read_model is used). Throws the same
  /// InputError on every rank as DistributedDataParallel does. Collective.
  DataParallel(std::function<ModelTensors()> read_model, const World& world, DistributedDataParallelOptions options,
               std::function<std::uint64_t()> mark_parameters = {});
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// Before a forward in training or evaluation: buffers, changes of the model, a rank out of data. Collective where it
  /// has something to exchange; a changed model is compared with the other ranks' in the next exchange.
  void before_forward(bool training);
  /// After it, with the tensors it returned. Local.
  void after_forward(const std::vector<at::Tensor>& outputs);

  /// An exact window over the trained parameters and the buffers (ddp/window.h); where `request` has no update, it is
  /// one more than the window before. Throws InputError where a window is open, inside join, and on every rank for
  /// parameters other than float32 and float64; RunError on every rank where ranks have changed their models
  /// differently; else as Window does. Collective.
  ModelWindow window(WindowRequest request);

  /// Whether a window is open, whose callables alone may call forward. Collective where it opens and the model had
  /// changed: ranks then compare its values.
  void set_in_window(bool open);
  /// "" or what of the parameters has changed since the buckets were made, by the newest forward or window. Local.
  std::string change_since_layout() const;
  /// A window was left without reduce(): the next one is refused on all ranks. Local.
  void note_abandoned_window() { abandoned_window_ = windows_; }
  /// Every check_sync_every windows all ranks compare their parameters. Collective.
  void after_window();
  /// While set, forward and backward are a Window's: nothing is exchanged by them. Local.
  void set_paused(bool paused);
  /// Rank 0's buffers go to all ranks. Collective.
  void sync_buffers();
  /// Runs `loop`, whose every forward may find other ranks out of data; afterwards takes part in their backward passes
  /// with zeros until all are out. All ranks then have the parameters and buffers of the lowest rank that worked last.
  /// Collective.
  void join(const std::function<void()>& loop, const JoinOptions& options);
  /// Throws the same RunError on every rank where parameters differ between ranks, or buffers that should not: after a
  /// plain training forward each rank has its own until sync_buffers(), eval() or the next one. Collective.
  void check_sync();

  void register_comm_hook(CommHook hook);
  const World& world() const { return world_; }
  const DistributedDataParallelOptions& options() const { return options_; }
  const Reducer& reducer() const { return *reducer_; }
  /// Rank 0 of several says what was chosen, in one line. Local.
  void log_choices() const;
  /// One line of choices, then one line a bucket. Local.
  std::string describe() const;

 private:
  friend class NoSync;

  /// What a rank with data does next, in a round of a join.
  struct JoinRound {
    bool has_data = false;
    bool synchronize = false;
    bool buffers = false;
  };

  std::string failure_of(const ModelTensors& model) const;
  void lay_out(const ModelTensors& model);
  void follow_changes();
  std::string buffer_change(const std::vector<NamedTensor>& buffers);
  void take_buffers_as_agreed(const std::vector<NamedTensor>& buffers);
  [[noreturn]] void refuse_here(const std::string& failure);
  void make_window_parameters();
  void broadcast_buffers(int root);
  JoinRound round_of_join(const JoinRound& mine);

  std::function<ModelTensors()> read_model_;
  World world_;
  DistributedDataParallelOptions options_;
  std::function<std::uint64_t()> mark_parameters_;
  std::vector<NamedTensor> parameters_;        // all
  std::uint64_t parameters_mark_ = 0;          // when the buckets were made
  std::vector<TensorForm> parameter_forms_;    // then
  std::vector<TensorForm> agreed_parameters_;  // as all ranks have agreed on them
  std::vector<TensorForm> agreed_buffers_;
  std::uint64_t buffers_mark_ = 0;  // of agreed_buffers_
  ParameterClaims claims_;
  std::unique_ptr<Reducer> reducer_;
  std::shared_ptr<const ParameterSet> window_parameters_;  // made by the first window, with its buffers
  std::shared_ptr<GradientBufferPool> window_pool_;
  std::int64_t windows_ = 0;           // update of the newest
  std::int64_t abandoned_window_ = 0;  // update of it; 0: none
  std::int64_t reduced_windows_ = 0;
  bool in_window_ = false;
  bool parameters_changed_ = false;  // since all ranks agreed
  bool buffers_changed_ = false;
  bool has_forward_ = false;  // one that recorded a graph
  bool paused_ = false;
  int no_sync_scopes_ = 0;
  bool last_was_no_sync_ = false;  // the newest training forward
  bool buffers_differ_ = false;    // a training forward may have changed this rank's
  const JoinOptions* joining_ = nullptr;
  int first_with_data_ = 0;  // rank, in the newest round of a join that had one
  /// What windows and scopes watch, which may outlive this.
  std::shared_ptr<DataParallel> self_{this, [](DataParallel*) {}};
};

}  // namespace samegrad
