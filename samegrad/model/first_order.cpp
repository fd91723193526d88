#include "samegrad/model/first_order.h"

#include <ATen/core/grad_mode.h>

#include <string>

#include "samegrad/base/error.h"

namespace samegrad {

void refuse_second_gradient(const char* operation) {
  if (at::GradMode::is_enabled()) {
    throw InputError("model", "backward(create_graph): " + std::string(operation) +
                                  " has no gradient of its gradient; call backward() without create_graph");
  }
}

}  // namespace samegrad
