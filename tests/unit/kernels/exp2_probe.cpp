// 2^x by a kernel's registers, over plain memory: compiled like a kernel, for each set of instructions.
#include "samegrad/kernels/registers.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

template <typename Element>
void powers(const Element* x, Element* result) {
  store_register(result, exp2_register<Element>(load_register(x)));
}

}  // namespace

/// Of as many values as fit into a register, at most 16.
void powers_of_two(const float* x, float* result) { powers(x, result); }
void powers_of_two(const double* x, double* result) { powers(x, result); }

}  // namespace samegrad::SAMEGRAD_ISA
