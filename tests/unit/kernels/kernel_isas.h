// The sets of instructions that this processor can run, for tests that call each one's function directly.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "samegrad/kernels/isa.h"

namespace samegrad {

template <typename Function>
struct OfIsa {
  Isa isa;
  Function* function;
};

/// Those of the three that the processor has, with a line for each that it has not.
template <typename Function>
std::vector<OfIsa<Function>> runnable(Function& portable, Function& avx2, Function& avx512) {
  std::vector<OfIsa<Function>> found;
  for (const OfIsa<Function>& one : {OfIsa<Function>{Isa::kPortable, &portable}, OfIsa<Function>{Isa::kAvx2, &avx2},
                                     OfIsa<Function>{Isa::kAvx512, &avx512}}) {
    if (one.isa <= best_isa("")) {
      found.push_back(one);
    } else {
      std::printf("left out: the processor has no %s\n", std::string(isa_name(one.isa)).c_str());
    }
  }
  return found;
}

}  // namespace samegrad
