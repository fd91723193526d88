// model-dump REQUEST.json PARAMETERS.safetensors OUT.safetensors: what samegrad's model makes of given parameters and
// samples, for comparison with PyTorch. REQUEST: {"model": {...}, "samples": [{"inputs": [...], "targets": [...]}]}.
// OUT: "logits" [tokens, choices], "loss_sum" [1], and the gradient of the loss sum under each parameter's name.
#include <ATen/Functions.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/json.h"
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/model/model.h"
#include "samegrad/model/parameter_spec.h"

namespace samegrad {
namespace {

ModelConfig model_config(const Json& json) {
  ModelConfig config;
  config.kind = json.at("kind");
  config.layers = json.at("layers");
  config.width = json.at("width");
  config.heads = json.at("heads");
  config.feed_forward = json.at("feed_forward");
  config.vocabulary = json.at("vocabulary");
  config.positions = json.at("positions");
  config.classes = json.at("classes");
  return config;
}

std::vector<Sample> samples(const Json& json) {
  std::vector<Sample> result;
  for (const Json& sample : json) {
    result.push_back({.inputs = sample.at("inputs"), .targets = sample.at("targets")});
  }
  return result;
}

at::Tensor parameter(const SafetensorsFile& file, const ParameterSpec& spec) {
  const TensorView& view = *file.find(spec.name);
  const at::Tensor tensor = at::empty(view.shape, view.type == TensorType::kFloat64 ? at::kDouble : at::kFloat);
  std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor.requires_grad_();
}

TensorView view_of(const std::string& name, const at::Tensor& tensor) {
  return {.name = name,
          .type = tensor.scalar_type() == at::kDouble ? TensorType::kFloat64 : TensorType::kFloat32,
          .shape = tensor.sizes().vec(),
          .bytes = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

void dump(const char* request_path, const char* parameters_path, const char* out_path) {
  const Json request = read_json_file(request_path, "model_dump");
  const ModelConfig config = model_config(request.at("model"));
  const SafetensorsFile file(parameters_path);
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  std::vector<at::Tensor> parameters;
  parameters.reserve(specs.size());
  for (const ParameterSpec& spec : specs) parameters.push_back(parameter(file, spec));

  const std::unique_ptr<Model> model = make_model(config, parameters);
  const PackedBatch batch = pack(samples(request.at("samples")));
  const at::Tensor logits = model->logits(batch, std::nullopt).detach().contiguous();
  const at::Tensor loss_sum = model->loss_sum(batch, std::nullopt);
  loss_sum.backward();
  const at::Tensor loss_value = loss_sum.detach().view({1});

  std::vector<at::Tensor> gradients;
  gradients.reserve(specs.size());
  for (const at::Tensor& leaf : parameters) gradients.push_back(leaf.grad().contiguous());
  std::vector<TensorView> views{view_of("logits", logits), view_of("loss_sum", loss_value)};
  for (std::size_t i = 0; i < specs.size(); ++i) views.push_back(view_of(specs[i].name, gradients[i]));
  write_file_atomically(out_path, safetensors_bytes(views));
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: model-dump REQUEST.json PARAMETERS.safetensors OUT.safetensors\n", stderr);
    return 2;
  }
  try {
    samegrad::dump(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
