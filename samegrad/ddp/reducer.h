// The exchange of gradients outside a Window, as PyTorch's DistributedDataParallel has it: when the outermost backward
// ends, every parameter's .grad is the mean (or sum) over ranks. Bits then depend on the number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/comm/world.h"
#include "samegrad/ddp/autograd_watch.h"
#include "samegrad/ddp/backward_agreement.h"
#include "samegrad/ddp/comm_hook.h"
#include "samegrad/ddp/ddp_options.h"
#include "samegrad/ddp/exchange_thread.h"
#include "samegrad/ddp/gradient_buckets.h"
#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

class Reducer {
 public:
  /// Over the trained `parameters`. `options` of a DistributedDataParallel. Local.
  Reducer(std::vector<NamedTensor> parameters, World world, DistributedDataParallelOptions options);

  /// A backward through `outputs`, of one forward, ends with an exchange where `synchronize`; else gradients stay this
  /// rank's own and are exchanged by the next that does. Local; that backward is Collective where it exchanges.
  void watch(const std::vector<at::Tensor>& outputs, bool synchronize);
  /// Whether a backward through the model is running. Local.
  bool in_backward() const { return watch_->in_backward(); }
  /// While set, backward passes are somebody else's (a Window's). Local.
  void set_paused(bool paused) { watch_->set_paused(paused); }

  /// Whether a no_sync scope is open, for the warning of a scope that does not cover both. Local.
  void set_no_sync(bool open) { no_sync_ = open; }

  /// `change` gives "" or what of the model has changed since this reducer was made: asked at the end of a backward, it
  /// is an error on all ranks, for what the forward used is no longer what is exchanged. Local.
  void set_model_change(std::function<std::string()> change) { model_change_ = std::move(change); }

  /// Leaves the parameters, so that another may follow it. Local.
  void unhook() { watch_.reset(); }
  /// Goes on where `before`, of the same model before it changed, was: its hook, scope and numbers. Local.
  void follow(Reducer& before);
  /// What of this rank's model has changed since all ranks agreed on one of `parameters` trained parameters, and this
  /// reducer was made: the next exchange compares it first, and none is entered alone. Local.
  void set_change(std::string change, std::size_t parameters);
  /// "" where all ranks have agreed on what this reducer was made for. Local.
  const std::string& change() const { return change_; }

  /// Replaces the exchange of buckets; once. Local.
  void register_hook(CommHook hook);
  /// Takes part in the exchange of one backward without data: zeros, and no parameter used. Collective.
  void exchange_without_data();
  /// The mean is over this many ranks from now on; 0: all. Local.
  void set_mean_over(std::int64_t ranks) { mean_over_ = ranks; }

  /// Exchanges so far.
  std::int64_t exchanges() const { return exchanges_; }
  /// Bytes of gradients that the buckets hold; 0 before the first backward and with one rank.
  std::int64_t bucket_bytes() const;
  /// The layout of the buckets, a line each. Local.
  std::string describe() const;

 private:
  void before_gradient(std::size_t parameter);
  void after_gradient(std::size_t parameter, bool defined);
  void begin(bool synchronize);
  void end(bool synchronize);
  void exchange(BackwardReport report);
  BackwardDecision exchange_buckets(const BackwardReport& report);
  std::vector<BackwardReport> agree(const BackwardReport& report);
  BackwardReport report() const;

  bool passive() const { return world_.size() == 1 && !hook_; }
  GradientBuckets& buckets();
  void adopt(std::size_t parameter);
  void prepare(std::size_t parameter);
  bool buckets_leave_first() const;
  void leave_ready_buckets();
  void leave_all_buckets();
  void leave(std::size_t bucket);
  void exchange_bucket(std::size_t bucket);
  void finish(std::size_t parameter);
  void check_graph();
  void check_scope(bool synchronize);
  void fail(std::string line);
  std::string call_name(std::string usual) const;

  std::vector<NamedTensor> parameters_;
  World world_;
  DistributedDataParallelOptions options_;
  std::vector<BucketParameter> bucket_parameters_;
  std::vector<BucketLayout> layout_;
  std::vector<std::string> names_;
  std::optional<GradientBuckets> buckets_;  // made by the first backward
  CommHook hook_;
  std::int64_t mean_over_ = 0;
  std::int64_t backwards_ = 0;
  std::int64_t exchanges_ = 0;
  std::int64_t stray_passes_ = 0;
  std::string failure_;
  std::function<std::string()> model_change_;
  std::string change_;
  std::size_t agreed_parameters_ = 0;  // trained ones of the model that all ranks agreed on
  bool no_sync_ = false;
  bool warned_of_scope_ = false;
  std::int64_t passes_ = 0;  // since the last exchange
  bool warned_of_passes_ = false;

  std::vector<bool> used_;                 // by parameter: since the last exchange
  std::vector<bool> holds_exchanged_;      // by parameter: .grad is an exchanged sum, and nothing was added since
  std::vector<int> gradients_;             // by parameter: in this backward
  std::optional<std::vector<int>> graph_;  // gradients_ of the first backward, where they may not change
  bool without_data_ = false;              // in this exchange
  bool overlapping_ = false;               // in this backward
  std::size_t next_bucket_ = 0;            // the first that has not left

  std::unique_ptr<ExchangeThread> thread_;  // where buckets leave during backward; its jobs use the above
  std::unique_ptr<AutogradWatch> watch_;    // last: its events use all of the above
};

}  // namespace samegrad
