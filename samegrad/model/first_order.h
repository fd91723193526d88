// The fused operations have no gradient of their gradient.
#pragma once

namespace samegrad {

/// Throws InputError where backward runs with create_graph; to be called first in an operation's backward. Local.
void refuse_second_gradient(const char* operation);

}  // namespace samegrad
