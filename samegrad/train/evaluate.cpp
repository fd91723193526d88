#include "samegrad/train/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/model/head_sums.h"
#include "samegrad/objective/window_units.h"
#include "samegrad/plan/atom_tree.h"
#include "samegrad/train/weighed_batch.h"

namespace samegrad {
namespace {

// One batch's part, of fixed size on the wire.
struct BatchSums {
  double loss_sum = 0.0;        // of the objective
  double token_loss_sum = 0.0;  // each supervised token weighing 1
  double weight = 0.0;
  std::int64_t units = 0;
  std::int64_t tokens = 0;
  std::int64_t correct = 0;
  std::int64_t samples = 0;
  std::int64_t input_tokens = 0;
};

// A batch is an atom of the whole set, which is one window. Only documents need to know the others.
WindowUnits set_units(const SampleSource& source, const Objective& objective, std::int64_t batch_size) {
  WindowUnits units(objective);
  for (std::int64_t id = 0; objective.unit == Unit::kDocument && id < source.size(); ++id) {
    units.add(id / batch_size, unit_row(source, id));
  }
  return units;
}

BatchSums evaluate_batch(const Model& model, const SampleSource& source, const WindowUnits& units,
                         std::int64_t batch_size, std::int64_t number) {
  const std::int64_t first_id = number * batch_size;
  const std::int64_t end_id = std::min(source.size(), first_id + batch_size);
  std::vector<Sample> samples;
  for (std::int64_t id = first_id; id < end_id; ++id) samples.push_back(source.sample(id));
  PackedBatch batch = pack(samples);
  const AtomUnits weighed = weigh_batch(units, number, samples, batch);
  BatchSums sums{.weight = weighed.weight,
                 .units = weighed.units,
                 .tokens = weighed.supervised_tokens,
                 .samples = end_id - first_id,
                 .input_tokens = batch.tokens()};
  if (sums.tokens == 0) return sums;
  const at::Tensor targets =
      at::from_blob(batch.targets.data(), {batch.tokens()}, at::TensorOptions().dtype(at::kLong));
  const at::Tensor logits = model.logits(batch, std::nullopt);
  sums.correct = logits.argmax(-1).eq(targets).sum().item<std::int64_t>();
  sums.loss_sum = loss_of_logits(logits, batch);
  sums.token_loss_sum = sums.loss_sum;
  if (!batch.weights.empty()) {
    PackedBatch unweighted = batch;
    unweighted.weights.clear();
    sums.token_loss_sum = loss_of_logits(logits, unweighted);
  }
  return sums;
}

std::int64_t most_frequent_target_count(const SampleSource& source) {
  std::map<std::int32_t, std::int64_t> counts;
  for (std::int64_t id = 0; id < source.size(); ++id) {
    for (const std::int32_t target : source.sample(id).targets) {
      if (target != kIgnoreTarget) ++counts[target];
    }
  }
  std::int64_t most = 0;
  for (const auto& [target, count] : counts) most = std::max(most, count);
  return most;
}

}  // namespace

Evaluation evaluate(const Model& model, const SampleSource& source, const Objective& objective, std::int64_t batch_size,
                    Communicator& comm, std::chrono::milliseconds timeout) {
  const at::NoGradGuard no_grad;
  const std::int64_t batches = (source.size() + batch_size - 1) / batch_size;
  const std::int64_t most_batches_per_rank = (batches + comm.size() - 1) / comm.size();
  const std::int64_t first = std::min(batches, comm.rank() * most_batches_per_rank);
  const std::int64_t end = std::min(batches, first + most_batches_per_rank);
  std::vector<BatchSums> mine(static_cast<std::size_t>(most_batches_per_rank));
  Evaluation result;
  std::string failure;
  int code = static_cast<int>(ExitCode::kRunFailed);
  try {
    const WindowUnits units = set_units(source, objective, batch_size);
    for (std::int64_t batch = first; batch < end; ++batch) {
      mine[static_cast<std::size_t>(batch - first)] = evaluate_batch(model, source, units, batch_size, batch);
    }
    if (comm.rank() == 0) result.majority_correct = most_frequent_target_count(source);
  } catch (const Error& error) {
    failure = error.what();
    code = static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    failure = "[evaluate] rank " + std::to_string(comm.rank()) + ": " + error.what();
  }
  agree_no_failure(comm, failure, code, {"evaluation", 0, timeout});
  comm.broadcast(std::as_writable_bytes(std::span(&result.majority_correct, 1)), 0, {"majority", 0, timeout});

  std::vector<BatchSums> all(mine.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)),
                  {"evaluation sums", 0, timeout});
  all.resize(static_cast<std::size_t>(batches));
  std::vector<double> loss_sums;
  std::vector<double> token_loss_sums;
  std::vector<double> weights;
  for (const BatchSums& sums : all) {
    loss_sums.push_back(sums.loss_sum);
    token_loss_sums.push_back(sums.token_loss_sum);
    weights.push_back(sums.weight);
    result.loss.count += sums.units;
    result.token_loss.count += sums.tokens;
    result.correct += sums.correct;
    result.samples += sums.samples;
    result.input_tokens += sums.input_tokens;
  }
  result.loss.sum = tree_sum(loss_sums);
  result.token_loss.sum = tree_sum(token_loss_sums);
  if (objective.divides_by_weight()) result.loss.weight = tree_sum(weights);
  return result;
}

}  // namespace samegrad
