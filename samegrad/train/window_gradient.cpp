#include "samegrad/train/window_gradient.h"

#include <algorithm>
#include <chrono>

#include "samegrad/comm/agreement.h"
#include "samegrad/ddp/window.h"
#include "samegrad/model/model.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {

WindowGradient window_gradient(const RunConfig& config, const SampleSource& train, const PlanWindow& window,
                               const std::string& digest, Communicator& comm, FlatParameters& parameters) {
  const std::unique_ptr<Model> model = make_model(config.model, parameters.tensors());
  const auto atoms = static_cast<std::int64_t>(window.atoms.size());
  const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  const WindowBatches batches = window_batches(window, range, train);
  GradientBufferPool pool(parameters.layout());
  WindowGradient result{.loss = {}, .gradient = {parameters.layout().type(), parameters.layout().flat_elements()}};
  {
    Window exact(parameters, pool, comm,
                 {.update = window.update,
                  .atoms_in_window = atoms,
                  .supervised_units = batches.supervised_units,
                  .digest = digest,
                  .failure = {},
                  .timeout = std::chrono::seconds(config.run.timeout_s)});
    if (exact.decision().action != WindowAction::kTrain) {
      throw_failure_line(exact.decision().message, exact.decision().exit_code);
    }
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      const PackedBatch& batch = batches.atoms[static_cast<std::size_t>(atom - range.begin)];
      exact.backward(atom, batch.supervised_tokens(), [&] { return model->loss_sum(batch, std::nullopt); });
    }
    result.loss = exact.reduce();
    with_element_type(parameters.layout().type(), [&](auto zero) {
      std::ranges::copy(exact.gradient<decltype(zero)>(), result.gradient.span<decltype(zero)>().begin());
    });
  }
  for (const at::Tensor& tensor : parameters.tensors()) tensor.mutable_grad().reset();
  return result;
}

}  // namespace samegrad
