#include "samegrad/train/train_state.h"

namespace samegrad {

std::vector<NamedShape> named_shapes(const std::vector<ParameterSpec>& specs) {
  std::vector<NamedShape> shapes;
  shapes.reserve(specs.size());
  for (const ParameterSpec& spec : specs) shapes.push_back({spec.name, spec.shape});
  return shapes;
}

TrainState initial_state(const RunConfig& config) {
  const std::vector<ParameterSpec> specs = parameter_specs(config.model);
  TrainState state{.histories = {}, .parameters = FlatParameters(named_shapes(specs)), .optimizer = nullptr};
  const std::vector<ParameterPlace>& places = state.parameters.layout().places();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    initialise_parameter(specs[i], static_cast<std::int64_t>(i), static_cast<std::uint64_t>(config.seed),
                         state.parameters.values().subspan(static_cast<std::size_t>(places[i].offset),
                                                           static_cast<std::size_t>(places[i].elements)));
  }
  state.optimizer = make_optimizer(config.optimizer, state.parameters.layout().flat_elements());
  for (std::int64_t rank = 0; rank < config.plan.virtual_ranks; ++rank)
    state.histories.push_back({.virtual_rank = rank});
  return state;
}

}  // namespace samegrad
