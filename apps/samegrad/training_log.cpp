#include "apps/samegrad/training_log.h"

#include <cmath>
#include <utility>

#include "samegrad/base/log.h"
#include "samegrad/report/json_number.h"
#include "samegrad/report/loss_divisor.h"

namespace samegrad {
namespace {

double tokens_per_second(const UpdateResult& result) {
  return result.seconds > 0.0 ? static_cast<double>(result.supervised_tokens) / result.seconds : 0.0;
}

}  // namespace

Json evaluation_to_json(const Evaluation& evaluation) {
  return {{"loss", number_to_json(evaluation.loss.mean())},
          {"perplexity", number_to_json(std::exp(evaluation.token_loss.mean()))},
          {"loss_sum", number_to_json(evaluation.loss.sum)},
          {"divisor", divisor_to_json(evaluation.loss)},
          {"token_loss_sum", number_to_json(evaluation.token_loss.sum)},
          {"supervised_tokens", evaluation.token_loss.count},
          {"samples", evaluation.samples},
          {"input_tokens", evaluation.input_tokens},
          {"correct", evaluation.correct},
          {"majority_correct", evaluation.majority_correct}};
}

Json metrics_line(const UpdateResult& result, const std::optional<Evaluation>& validation) {
  Json line{{"update", result.update},
            {"epoch", result.epoch},
            {"action", result.action == WindowAction::kSkip ? "skip" : "train"},
            {"stepped", result.stepped},
            {"loss", result.loss.divisor() > 0.0 ? number_to_json(result.loss.mean()) : Json(nullptr)},
            {"loss_sum", number_to_json(result.loss.sum)},
            {"divisor", divisor_to_json(result.loss)},
            {"supervised_tokens", result.supervised_tokens},
            {"gradient_norm", number_to_json(result.gradient_norm)},
            {"clip_factor", result.clip_factor},
            {"learning_rate", result.learning_rate},
            {"seconds", result.seconds},
            {"tokens_per_second", tokens_per_second(result)},
            {"gradient_xxh3", result.gradient_hash},
            {"parameters_xxh3", result.parameters_hash},
            {"hash_chain", result.hash_chain},
            {"ranks", Json::array()}};
  for (const TermLoss& term : result.terms) {
    line["terms"][term.name] = {{"loss_sum", number_to_json(term.loss.sum)}, {"divisor", divisor_to_json(term.loss)}};
  }
  for (const RankShare& share : result.ranks) {
    line["ranks"].push_back({{"supervised_tokens", share.supervised_tokens},
                             {"input_tokens", share.input_tokens},
                             {"compute_seconds", share.seconds.compute},
                             {"wait_seconds", share.seconds.wait},
                             {"exchange_seconds", share.seconds.exchange},
                             {"bytes_sent", share.volume.bytes_sent},
                             {"bytes_received", share.volume.bytes_received},
                             {"gradient_buffers", share.gradient_buffers}});
  }
  if (validation) line["validation"] = evaluation_to_json(*validation);
  return line;
}

TrainingLog::TrainingLog(MetricsLog metrics, std::int64_t first_update, std::int64_t last_update, std::int64_t every)
    : metrics_(std::move(metrics)), first_update_(first_update), last_update_(last_update), every_(every) {
  summary_.first_update = first_update;
}

void TrainingLog::update_done(const UpdateResult& result, const std::optional<Evaluation>& validation) {
  metrics_.append(metrics_line(result, validation));
  summary_.update = result.update;
  summary_.supervised_tokens += result.supervised_tokens;
  summary_.skipped_windows += result.stepped ? 0 : 1;
  if (result.loss.divisor() > 0.0) {
    if (!any_loss_) summary_.first_loss = result.loss;
    any_loss_ = true;
    summary_.last_loss = result.loss;
  }
  summary_.ranks.resize(std::max(summary_.ranks.size(), result.ranks.size()));
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    summary_.ranks[rank].supervised_tokens += result.ranks[rank].supervised_tokens;
    summary_.ranks[rank].compute_seconds += result.ranks[rank].seconds.compute;
    summary_.ranks[rank].wait_seconds += result.ranks[rank].seconds.wait;
    summary_.ranks[rank].exchange_seconds += result.ranks[rank].seconds.exchange;
  }
  if (validation) {
    log_info(progress_of(result));
    log_info("  validation after update " + std::to_string(result.update) + ": loss " +
             std::to_string(validation->loss.mean()) + ", perplexity " +
             std::to_string(std::exp(validation->token_loss.mean())) + " over " +
             std::to_string(validation->token_loss.count) + " tokens");
  } else if (log_is_terminal()) {
    log_progress(progress_of(result));
  } else if (progress_line_due(result.update, first_update_, last_update_, every_)) {
    log_info(progress_of(result));
  }
}

std::string TrainingLog::progress_of(const UpdateResult& result) const {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const auto done = static_cast<double>(result.update - first_update_ + 1);
  return progress_line({.update = result.update,
                        .last_update = last_update_,
                        .loss = result.loss,
                        .gradient_norm = result.gradient_norm,
                        .learning_rate = result.learning_rate,
                        .tokens_per_second = tokens_per_second(result),
                        .seconds_left = elapsed / done * static_cast<double>(last_update_ - result.update),
                        .stepped = result.stepped});
}

RunSummary TrainingLog::summary() const {
  RunSummary summary = summary_;
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return summary;
}

}  // namespace samegrad
