#include "samegrad/ddp/mean_reduction.h"

#include <vector>

#include "samegrad/objective/scale.h"

namespace samegrad {

void mean_over_ranks(Communicator& comm, std::span<float> gradient, const CallLabel& label) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<float> all(gradient.size() * ranks);
  comm.all_gather(std::as_bytes(gradient), std::as_writable_bytes(std::span(all)), label);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float sum = all[i];
    for (std::size_t rank = 1; rank < ranks; ++rank) sum += all[rank * gradient.size() + i];
    gradient[i] = sum;
  }
  divide_gradient(gradient.data(), static_cast<std::int64_t>(gradient.size()), static_cast<double>(comm.size()));
}

}  // namespace samegrad
