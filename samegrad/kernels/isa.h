// Which set of instructions the kernels of this folder use in this process.
//
// A kernel X is a file X.kernel.cpp, compiled once for each Isa into a namespace of its own (SAMEGRAD_ISA); X.cpp holds
// the one function that others call and picks with kernel_for(). Kernel files include nothing but <cstddef>, <cstdint>,
// headers that say they are for kernel files, plain data and C headers that are all static, and define nothing inline
// that is shared: the linker keeps one copy of an inline function, which may be the one that an older processor cannot
// run (tests/unit/kernels holds it).
#pragma once

#include <string_view>

namespace samegrad {

enum class Isa { kPortable = 0, kAvx2 = 1, kAvx512 = 2 };

/// "portable", "avx2" (with FMA), "avx512" (F, BW, DQ, VL).
std::string_view isa_name(Isa isa);

/// The best that the processor has and `capability` allows, which is the value of ATEN_CPU_CAPABILITY ("default",
/// "avx2", "avx512"; anything else: no bound), so that run.isa governs libtorch's kernels and these. Local.
Isa best_isa(std::string_view capability);

/// best_isa of the environment, decided at the first call and kept. Local.
Isa kernel_isa();

/// The one of three functions that this process runs. Local.
template <typename Function>
Function* kernel_for(Function& portable, Function& avx2, Function& avx512) {
  const Isa isa = kernel_isa();
  return isa == Isa::kAvx512 ? &avx512 : isa == Isa::kAvx2 ? &avx2 : &portable;
}

}  // namespace samegrad
