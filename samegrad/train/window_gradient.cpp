#include "samegrad/train/window_gradient.h"

#include <algorithm>
#include <memory>

#include "samegrad/model/model.h"
#include "samegrad/train/objective_terms.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_batches.h"
#include "samegrad/train/wrapped_parameters.h"

namespace samegrad {

WindowGradient window_gradient(const RunConfig& config, const SampleSource& train, const PlanWindow& window,
                               const std::string& digest, Communicator& comm, FlatParameters& parameters) {
  const std::unique_ptr<Model> model = make_model(config.model, parameters.tensors());
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  const WindowBatches batches = window_batches(window, range, train, training_objective(config, train));
  const std::unique_ptr<DataParallel> ddp = wrap_parameters(parameters, comm, config.run);
  WindowGradient result{.loss = {}, .gradient = {parameters.layout().type(), parameters.layout().flat_elements()}};
  {
    WindowRequest request{.atoms = range.size(), .update = window.update, .digest = digest};
    request_units(request, config.objective, batches);
    ModelWindow exact = ddp->window(request);
    for (std::size_t i = 0; i < batches.atoms.size(); ++i) {
      run_atom(exact, config.objective, batches.units[i], [&] {
        return atom_sums(*model, parameters.tensors(), config.objective, batches.atoms[i], std::nullopt, exact.atom());
      });
    }
    exact.reduce();
    result.loss = units_loss(exact);
    with_element_type(parameters.layout().type(), [&](auto zero) {
      std::ranges::copy(exact.gradient<decltype(zero)>(), result.gradient.span<decltype(zero)>().begin());
    });
  }
  for (const at::Tensor& tensor : parameters.tensors()) tensor.mutable_grad().reset();
  return result;
}

}  // namespace samegrad
