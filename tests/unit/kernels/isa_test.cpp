// The set of instructions is the best that the processor has and the environment allows.
#include "samegrad/kernels/isa.h"

#include <gtest/gtest.h>

#include <string>

namespace samegrad {
namespace {

TEST(Isa, IsBoundedByTheCapabilityThatIsAskedFor) {
  EXPECT_EQ(best_isa("default"), Isa::kPortable);
  EXPECT_LE(best_isa("avx2"), Isa::kAvx2);
  EXPECT_LE(best_isa("avx2"), best_isa("avx512"));
  EXPECT_EQ(best_isa(""), best_isa("avx512")) << "no bound: the best";
}

TEST(Isa, IsTheOneOfThreeFunctionsThatIsRun) {
  static const auto name_of = [](Isa isa) { return std::string(isa_name(isa)); };
  struct Chosen {
    static int portable() { return 0; }
    static int avx2() { return 1; }
    static int avx512() { return 2; }
  };
  const int run = kernel_for(Chosen::portable, Chosen::avx2, Chosen::avx512)();
  EXPECT_EQ(run, static_cast<int>(kernel_isa())) << name_of(kernel_isa());
}

}  // namespace
}  // namespace samegrad
