// PyTorch's own reducer, c10d::Reducer over Gloo, as a peer to compare with: what torch.nn.parallel.
// DistributedDataParallel does around a forward, in C++.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace samegrad {

/// Ranks that talk over Gloo on this host.
class C10dGroup {
 public:
  /// All ranks meet in the file `store_path`, which must not exist before. Collective.
  C10dGroup(const std::string& store_path, int rank, int world_size);
  ~C10dGroup();
  C10dGroup(const C10dGroup&) = delete;
  C10dGroup& operator=(const C10dGroup&) = delete;

  /// Gloo's all-reduce: `values` becomes the sum over ranks. Collective.
  void all_reduce_sum(const at::Tensor& values);

 private:
  friend class C10dReducer;
  struct State;
  std::unique_ptr<State> state_;
};

/// Names and defaults as in PyTorch; caps in bytes.
struct C10dReducerOptions {
  std::int64_t bucket_bytes_cap = 25 * 1024 * 1024;
  std::int64_t first_bucket_bytes_cap = 1024 * 1024;
  bool find_unused_parameters = false;
  bool gradient_as_bucket_view = false;
};

class C10dReducer {
 public:
  /// `parameters` that require a gradient, the same on every rank. Collective.
  C10dReducer(C10dGroup& group, std::vector<at::Tensor> parameters, const C10dReducerOptions& options);
  ~C10dReducer();
  C10dReducer(const C10dReducer&) = delete;
  C10dReducer& operator=(const C10dReducer&) = delete;

  /// Before each forward. Collective in the second iteration, when it lays its buckets out anew.
  void before_forward();
  /// After a forward whose backward exchanges; leave it out where gradients shall stay the rank's own. Local; that
  /// backward is Collective.
  void after_forward(const std::vector<at::Tensor>& outputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace samegrad
