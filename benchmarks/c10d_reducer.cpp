#include "benchmarks/c10d_reducer.h"

#include <algorithm>
#include <chrono>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace samegrad {

struct C10dGroup::State {
  c10::intrusive_ptr<c10d::ProcessGroup> group;
};

C10dGroup::C10dGroup(const std::string& store_path, int rank, int world_size) : state_(std::make_unique<State>()) {
  using c10d::ProcessGroup;
  const auto store = c10::make_intrusive<c10d::FileStore>(store_path, world_size);
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(2));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  const auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, std::move(options));
  state_->group = c10::make_intrusive<ProcessGroup>(store, rank, world_size);
  state_->group->setBackend(c10::DeviceType::CPU, ProcessGroup::BackendType::GLOO, gloo);
  state_->group->setDefaultBackend(ProcessGroup::BackendType::GLOO);
}

C10dGroup::~C10dGroup() = default;

void C10dGroup::all_reduce_sum(const at::Tensor& values) {
  std::vector<at::Tensor> tensors{values};
  state_->group->allreduce(tensors)->wait();
}

struct C10dReducer::State {
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;
  bool find_unused_parameters = false;
};

C10dReducer::C10dReducer(C10dGroup& group, std::vector<at::Tensor> parameters, const C10dReducerOptions& options)
    : state_(std::make_unique<State>()) {
  state_->find_unused_parameters = options.find_unused_parameters;
  const std::vector<std::size_t> limits{static_cast<std::size_t>(options.first_bucket_bytes_cap),
                                        static_cast<std::size_t>(options.bucket_bytes_cap)};
  const std::vector<bool> sparse(parameters.size(), false);
  std::vector<std::vector<std::size_t>> buckets;
  std::tie(buckets, std::ignore) = c10d::compute_bucket_assignment_by_size(parameters, limits, sparse);
  std::ranges::reverse(buckets);  // backward makes the last parameters' gradients first
  state_->reducer = std::make_shared<c10d::Reducer>(
      std::move(parameters), std::move(buckets), group.state_->group, sparse, options.bucket_bytes_cap,
      options.find_unused_parameters, options.gradient_as_bucket_view, std::unordered_map<std::size_t, std::string>{},
      options.first_bucket_bytes_cap, /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      std::vector<std::int64_t>{});
  state_->logger = std::make_shared<c10d::Logger>(state_->reducer);
  state_->reducer->set_logger(state_->logger);  // the search for unused parameters does not ask whether there is one
}

C10dReducer::~C10dReducer() = default;

void C10dReducer::before_forward() {
  state_->reducer->prepare_for_forward();
  state_->reducer->rebuild_buckets();
}

void C10dReducer::after_forward(const std::vector<at::Tensor>& outputs) {
  state_->reducer->prepare_for_backward(state_->find_unused_parameters ? outputs : std::vector<at::Tensor>{});
}

}  // namespace samegrad
