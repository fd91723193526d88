#include "samegrad/ddp/model_window.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>
#include <utility>

#include "samegrad/ddp/data_parallel.h"

namespace samegrad {
namespace {

at::Tensor default_generator_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void set_default_generator_state(const at::Tensor& state) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

}  // namespace

// Of the bases the parts come first: they are there before the window, and after it.
ModelWindow::ModelWindow(ModelWindowParts parts, const WindowRequest& request, std::vector<NamedTensor> buffers,
                         const WindowOptions& options)
    : ModelWindowParts(std::move(parts)),
      Window(*parameters, *pool, world.communicator(), request, std::move(buffers), options) {
  if (decision().action != WindowAction::kTrain) return;
  if (const auto told = owner.lock()) told->set_in_window(true);
  if (request.generator_seed) generator_state_ = default_generator_state();
}

ModelWindow::~ModelWindow() {
  close();
  const bool by_an_error = std::uncaught_exceptions() > exceptions_at_start_;
  if (decision().action != WindowAction::kTrain || reduced_ || by_an_error) return;
  if (const auto told = owner.lock()) told->note_abandoned_window();
}

bool ModelWindow::reduce() {
  close();
  reduced_ = true;  // or all ranks have its error
  const bool trained = Window::reduce();
  if (const auto told = owner.lock(); told && trained) told->after_window();
  return trained;
}

void ModelWindow::close() {
  if (const auto told = owner.lock(); told && decision().action == WindowAction::kTrain) told->set_in_window(false);
  if (generator_state_.defined()) set_default_generator_state(std::exchange(generator_state_, {}));
}

std::string ModelWindow::model_change() const {
  const auto told = owner.lock();
  return told ? told->change_since_layout() : Window::model_change();
}

void ModelWindow::inside_atom(bool inside) {
  if (const auto told = owner.lock()) told->set_paused(inside);
}

}  // namespace samegrad
