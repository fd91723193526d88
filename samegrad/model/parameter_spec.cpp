#include "samegrad/model/parameter_spec.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/philox.h"
#include "samegrad/model/inverse_normal.h"

namespace samegrad {
namespace {

// Small enough that attention starts out even and logits start out near 0; the norms bring activations to size 1.
constexpr double kWeightDeviation = 0.02;

class SpecList {
 public:
  void weight(std::string name, std::vector<std::int64_t> shape, double standard_deviation) {
    specs_.push_back({std::move(name), std::move(shape), InitRule::kNormal, standard_deviation});
  }
  void zero(std::string name, std::vector<std::int64_t> shape) {
    specs_.push_back({std::move(name), std::move(shape), InitRule::kZero, 0.0});
  }
  void norm(const std::string& name, std::int64_t width) {
    specs_.push_back({name + ".weight", {width}, InitRule::kOne, 0.0});
    zero(name + ".bias", {width});
  }
  /// One nn.TransformerEncoderLayer, in the order of its state_dict().
  void layer(const std::string& prefix, const ModelConfig& model) {
    const std::int64_t width = model.width;
    const std::int64_t inner = model.feed_forward;
    weight(prefix + "self_attn.in_proj_weight", {3 * width, width}, kWeightDeviation);
    zero(prefix + "self_attn.in_proj_bias", {3 * width});
    weight(prefix + "self_attn.out_proj.weight", {width, width}, kWeightDeviation);
    zero(prefix + "self_attn.out_proj.bias", {width});
    weight(prefix + "linear1.weight", {inner, width}, kWeightDeviation);
    zero(prefix + "linear1.bias", {inner});
    weight(prefix + "linear2.weight", {width, inner}, kWeightDeviation);
    zero(prefix + "linear2.bias", {width});
    norm(prefix + "norm1", width);
    norm(prefix + "norm2", width);
  }
  std::vector<ParameterSpec> take() { return std::move(specs_); }

 private:
  std::vector<ParameterSpec> specs_;
};

}  // namespace

std::int64_t ParameterSpec::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<ParameterSpec> parameter_specs(const ModelConfig& model) {
  const bool decoder = model.kind == "decoder";
  const std::int64_t choices = decoder ? model.vocabulary : model.classes;
  SpecList list;
  list.weight("token.weight", {model.vocabulary, model.width}, kWeightDeviation);
  list.weight("position.weight", {model.positions, model.width}, kWeightDeviation);
  for (std::int64_t i = 0; i < model.layers; ++i) {
    list.layer((decoder ? "decoder.layers." : "encoder.layers.") + std::to_string(i) + ".", model);
  }
  if (decoder) list.norm("norm", model.width);
  if (model.init == "zero-head") {
    list.zero("head.weight", {choices, model.width});
  } else {
    list.weight("head.weight", {choices, model.width}, kWeightDeviation);
  }
  list.zero("head.bias", {choices});
  return list.take();
}

void initialise_parameter(const ParameterSpec& spec, std::int64_t index, std::uint64_t seed, std::span<float> values) {
  SAMEGRAD_CHECK_OP(static_cast<std::int64_t>(values.size()), ==, spec.elements());
  if (spec.init != InitRule::kNormal) {
    std::fill(values.begin(), values.end(), spec.init == InitRule::kOne ? 1.0F : 0.0F);
    return;
  }
  const PhiloxKey key = philox_key(seed, PhiloxStream::kInitialWeights);
  PhiloxCounter block{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % 4 == 0) {
      const std::uint64_t block_index = i / 4;
      block = philox4x32({static_cast<std::uint32_t>(block_index), static_cast<std::uint32_t>(block_index >> 32),
                          static_cast<std::uint32_t>(index), 0},
                         key);
    }
    // The middle of the block's 2^32 equal cells: never 0 or 1, exact in double.
    const double p = (static_cast<double>(block[i % 4]) + 0.5) * 0x1.0p-32;
    values[i] = static_cast<float>(spec.standard_deviation * inverse_normal(p));
  }
}

}  // namespace samegrad
