#include "samegrad/train/optimizer.h"

#include <cmath>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/kernels/adamw.h"

namespace samegrad {
namespace {

double number_from(const Json& scalars, const char* name) {
  if (!scalars.is_object() || !scalars.contains(name) || !scalars[name].is_number()) {
    throw CheckError("checkpoint", std::string("optimizer state: number '") + name + "' is missing");
  }
  return scalars[name].get<double>();
}

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerConfig& config, std::int64_t flat_elements) : config_(config) {
    if (config.momentum != 0.0)
      state_.push_back({"momentum_buffer", AlignedBlock(ElementType::kFloat32, flat_elements)});
  }

  void step(std::span<float> values, std::span<const float> gradient, double learning_rate) override {
    const auto rate = static_cast<float>(learning_rate);
    const auto decay = static_cast<float>(config_.weight_decay);
    const auto momentum = static_cast<float>(config_.momentum);
    ++steps_;
    if (state_.empty()) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = values[i] - rate * (gradient[i] + decay * values[i]);
      }
      return;
    }
    const std::span<float> buffer = state_[0].values.span();
    for (std::size_t i = 0; i < values.size(); ++i) {
      buffer[i] = momentum * buffer[i] + (gradient[i] + decay * values[i]);
      values[i] = values[i] - rate * buffer[i];
    }
  }

  Json scalars() const override { return {{"steps", steps_}}; }
  void restore_scalars(const Json& scalars) override {
    steps_ = static_cast<std::int64_t>(number_from(scalars, "steps"));
  }

 private:
  OptimizerConfig config_;
};

class AdamW final : public Optimizer {
 public:
  AdamW(OptimizerConfig config, std::int64_t flat_elements) : config_(std::move(config)) {
    state_.push_back({"exp_avg", AlignedBlock(ElementType::kFloat32, flat_elements)});
    state_.push_back({"exp_avg_sq", AlignedBlock(ElementType::kFloat32, flat_elements)});
  }

  void step(std::span<float> values, std::span<const float> gradient, double learning_rate) override {
    ++steps_;
    // beta^t by repeated multiplication: IEEE arithmetic alone, so no libm can make ranks or machines differ.
    beta1_power_ *= config_.beta1;
    beta2_power_ *= config_.beta2;
    const AdamwScalars scalars{.keep = static_cast<float>(1.0 - learning_rate * config_.weight_decay),
                               .beta1 = static_cast<float>(config_.beta1),
                               .beta2 = static_cast<float>(config_.beta2),
                               .fresh1 = static_cast<float>(1.0 - config_.beta1),
                               .fresh2 = static_cast<float>(1.0 - config_.beta2),
                               .step_size = static_cast<float>(learning_rate / (1.0 - beta1_power_)),
                               .root_correction = static_cast<float>(std::sqrt(1.0 - beta2_power_)),
                               .epsilon = static_cast<float>(config_.epsilon)};
    adamw_step(scalars, gradient.data(), state_[0].values.span().data(), state_[1].values.span().data(), values.data(),
               static_cast<std::int64_t>(values.size()));
  }

  Json scalars() const override {
    return {{"steps", steps_}, {"beta1_power", beta1_power_}, {"beta2_power", beta2_power_}};
  }
  void restore_scalars(const Json& scalars) override {
    steps_ = static_cast<std::int64_t>(number_from(scalars, "steps"));
    beta1_power_ = number_from(scalars, "beta1_power");
    beta2_power_ = number_from(scalars, "beta2_power");
  }

 private:
  OptimizerConfig config_;
  double beta1_power_ = 1.0;
  double beta2_power_ = 1.0;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::int64_t flat_elements) {
  if (config.kind == "adamw") return std::make_unique<AdamW>(config, flat_elements);
  return std::make_unique<Sgd>(config, flat_elements);
}

}  // namespace samegrad
