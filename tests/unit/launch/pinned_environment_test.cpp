#include "samegrad/launch/pinned_environment.h"

#include <gtest/gtest.h>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

const EnvironmentVariables kAlways{{"OMP_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}, {"MKL_CBWR", "AUTO"}};

EnvironmentVariables pinned(const std::string& isa) {
  RunSection run;
  run.isa = isa;
  return pinned_environment(run);
}

TEST(PinnedEnvironment, LeavesInstructionsToTheMachineByDefault) { EXPECT_EQ(pinned("auto"), kAlways); }

TEST(PinnedEnvironment, NamesInstructionsForAtenAndForOnednn) {
  for (const auto& [isa, onednn] : {std::pair{"default", "SSE41"}, {"avx2", "AVX2"}, {"avx512", "AVX512_CORE"}}) {
    EnvironmentVariables expected = kAlways;
    expected.emplace_back("ATEN_CPU_CAPABILITY", isa);
    expected.emplace_back("ONEDNN_MAX_CPU_ISA", onednn);
    EXPECT_EQ(pinned(isa), expected);
  }
}

TEST(PinnedEnvironment, RefusesOtherInstructions) { EXPECT_THROW(pinned("avx10"), InputError); }

}  // namespace
}  // namespace samegrad
