#include "samegrad/comm/aten_pins.h"

#include <ATen/Parallel.h>

#include <cstdlib>
#include <string_view>

#include "samegrad/base/pinned_variables.h"

// Of the MKL inside libtorch (it comes without headers); absent from a libtorch that has none.
extern "C" __attribute__((weak)) int mkl_serv_cbwr_get(int option);

namespace samegrad {
namespace {

constexpr std::array<const char*, kUnpinnedFacts> kTexts{
    "OMP_NUM_THREADS is not 1: threads of your own may compute with several threads; set it to 1 or leave it out",
    "MKL_NUM_THREADS is not 1: threads of your own may compute with several threads; set it to 1 or leave it out",
    "MKL is not in a reproducible mode, because it was used before init() or MKL_CBWR says so: call init() first in "
    "main(), and set MKL_CBWR=AUTO or leave it out"};
static_assert(kTexts.size() == kPinnedVariables.size());

/// mkl.h: MKL_CBWR_BRANCH_OFF 1, also what an unset mode is; MKL_CBWR_AUTO 2, and more for the branches.
bool mkl_is_reproducible() {
  constexpr int kBranch = 1;
  constexpr int kOff = 1;
  return mkl_serv_cbwr_get == nullptr || mkl_serv_cbwr_get(kBranch) > kOff;
}

}  // namespace

UnpinnedFacts pin_this_process() {
  UnpinnedFacts unpinned{};
  for (std::size_t i = 0; i < kPinnedVariables.size(); ++i) {
    const auto& [name, value] = kPinnedVariables[i];
    setenv(name, value, /*overwrite=*/0);
    unpinned[i] = std::string_view(std::getenv(name)) != value;
  }
  at::set_num_threads(1);
  unpinned.back() = !mkl_is_reproducible();  // another mode of MKL than AUTO has one value for all W, too
  return unpinned;
}

std::string unpinned_text(std::size_t index) { return kTexts.at(index); }

}  // namespace samegrad
