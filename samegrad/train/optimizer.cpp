#include "samegrad/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/ddp/element_hash.h"
#include "samegrad/kernels/adamw.h"
#include "samegrad/kernels/sgd.h"
#include "samegrad/kernels/xxh3.h"

namespace samegrad {
namespace {

/// Numbers of an optimizer's state, and the file that they are from.
struct SavedScalars {
  const Json& values;
  const std::string& file;

  [[noreturn]] void refuse(const char* name, const char* reason) const {
    throw CheckError("checkpoint", file + ": optimizer state: number '" + name + "' " + reason);
  }

  const Json& number(const char* name) const {
    if (!values.is_object() || !values.contains(name) || !values[name].is_number()) refuse(name, "is missing");
    return values[name];
  }

  std::int64_t steps() const {
    try {
      return whole_number(number("steps"), 0);
    } catch (const JsonRefused&) {
      refuse("steps", "is no whole number of at least 0");
    }
  }

  /// beta^steps.
  double power(const char* name, std::int64_t steps) const {
    const auto power = number(name).get<double>();
    if (!(power >= 0.0) || power > 1.0 || (power == 1.0) != (steps == 0)) {
      refuse(name, "is no power of a beta after that many steps");
    }
    return power;
  }
};

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerConfig& config, std::int64_t flat_elements) : config_(config) {
    if (config.momentum != 0.0)
      state_.push_back({"momentum_buffer", AlignedBlock(ElementType::kFloat32, flat_elements)});
  }

  void begin_step(double learning_rate, double clip_factor) override {
    ++steps_;
    scalars_ = {.rate = static_cast<float>(learning_rate),
                .decay = static_cast<float>(config_.weight_decay),
                .momentum = static_cast<float>(config_.momentum),
                .clip_factor = clip_factor};
  }

  void step_elements(std::int64_t first, std::span<float> values, std::span<const float> gradient) override {
    const auto count = static_cast<std::int64_t>(values.size());
    if (state_.empty()) {
      sgd_step(scalars_, gradient.data(), values.data(), count);
    } else {
      momentum_step(scalars_, gradient.data(), state_[0].values.span().data() + first, values.data(), count);
    }
  }

  Json scalars() const override { return {{"steps", steps_}}; }
  void restore_scalars(const Json& scalars, const std::string& file) override {
    steps_ = SavedScalars{scalars, file}.steps();
  }

 private:
  OptimizerConfig config_;
  SgdScalars scalars_{};  // of the step that has begun
};

class AdamW final : public Optimizer {
 public:
  AdamW(OptimizerConfig config, std::int64_t flat_elements) : config_(std::move(config)) {
    state_.push_back({"exp_avg", AlignedBlock(ElementType::kFloat32, flat_elements)});
    state_.push_back({"exp_avg_sq", AlignedBlock(ElementType::kFloat32, flat_elements)});
  }

  void begin_step(double learning_rate, double clip_factor) override {
    ++steps_;
    // beta^t by repeated multiplication: IEEE arithmetic alone, so no libm can make ranks or machines differ.
    beta1_power_ *= config_.beta1;
    beta2_power_ *= config_.beta2;
    scalars_ = {.keep = static_cast<float>(1.0 - learning_rate * config_.weight_decay),
                .beta1 = static_cast<float>(config_.beta1),
                .beta2 = static_cast<float>(config_.beta2),
                .fresh1 = static_cast<float>(1.0 - config_.beta1),
                .fresh2 = static_cast<float>(1.0 - config_.beta2),
                .step_size = static_cast<float>(learning_rate / (1.0 - beta1_power_)),
                .root_correction = static_cast<float>(std::sqrt(1.0 - beta2_power_)),
                .epsilon = static_cast<float>(config_.epsilon),
                .clip_factor = clip_factor};
  }

  void step_elements(std::int64_t first, std::span<float> values, std::span<const float> gradient) override {
    adamw_step(scalars_, gradient.data(), state_[0].values.span().data() + first,
               state_[1].values.span().data() + first, values.data(), static_cast<std::int64_t>(values.size()));
  }

  Json scalars() const override {
    return {{"steps", steps_}, {"beta1_power", beta1_power_}, {"beta2_power", beta2_power_}};
  }
  void restore_scalars(const Json& scalars, const std::string& file) override {
    const SavedScalars saved{scalars, file};
    const std::int64_t steps = saved.steps();
    const double power1 = saved.power("beta1_power", steps);
    const double power2 = saved.power("beta2_power", steps);
    steps_ = steps;
    beta1_power_ = power1;
    beta2_power_ = power2;
  }

 private:
  OptimizerConfig config_;
  double beta1_power_ = 1.0;
  double beta2_power_ = 1.0;
  AdamwScalars scalars_{};  // of the step that has begun
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::int64_t flat_elements) {
  if (config.kind == "adamw") return std::make_unique<AdamW>(config, flat_elements);
  return std::make_unique<Sgd>(config, flat_elements);
}

std::string step_and_hash(Optimizer& optimizer, const FlatLayout& layout, std::span<float> values,
                          std::span<const float> gradient, double learning_rate, double clip_factor) {
  optimizer.begin_step(learning_rate, clip_factor);
  Xxh3 hash;
  for (const ParameterPlace& place : layout.places()) {
    const auto end = static_cast<std::size_t>(place.offset + place.elements);
    for (auto first = static_cast<std::size_t>(place.offset); first < end; first += kHashBlock) {
      const std::size_t count = std::min(kHashBlock, end - first);
      optimizer.step_elements(static_cast<std::int64_t>(first), values.subspan(first, count),
                              gradient.subspan(first, count));
      add_elements(hash, std::span<const float>(values.subspan(first, count)));
    }
  }
  return hash.hex();
}

}  // namespace samegrad
