#include "apps/samegrad/machine.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(Cpuinfo, GivesTheFirstProcessorsModelAndTheFlagsThatMatter) {
  Machine machine;
  read_cpuinfo(machine,
               "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC: 9R14\n"
               "flags\t\t: fpu sse4_2 avx avx2 avx512_vnni_x\n\nprocessor\t: 1\nmodel name\t: another\n");
  EXPECT_EQ(machine.cpu, "AMD EPYC: 9R14");
  EXPECT_EQ(machine.vendor, "AuthenticAMD");
  EXPECT_EQ(machine.isa, (std::vector<std::string>{"sse4_2", "avx", "avx2"}));
}

TEST(Cpuinfo, LeavesUnknownWhatIsNotThere) {
  Machine machine;
  read_cpuinfo(machine, "");
  EXPECT_EQ(machine.cpu, "unknown");
  EXPECT_TRUE(machine.isa.empty());
}

TEST(Meminfo, CountsBytesThatCanBeHad) {
  Machine machine;
  read_meminfo(machine, "MemTotal:       2048 kB\nMemFree:  1 kB\nMemAvailable:   1024 kB\n");
  EXPECT_EQ(machine.memory_total, 2 * kMiB);
  EXPECT_EQ(machine.memory_free, 1 * kMiB);
}

TEST(ControlGroup, LowersMemoryToItsLimit) {
  Machine host;
  host.memory_total = 1000 * kMiB;
  host.memory_free = 800 * kMiB;
  Machine limited = host;
  limit_memory(limited, std::to_string(512 * kMiB) + "\n", 300 * kMiB, 100 * kMiB);
  EXPECT_EQ(limited.memory_total, 512 * kMiB);
  EXPECT_EQ(limited.memory_free, 312 * kMiB);

  Machine full = host;
  limit_memory(full, std::to_string(100 * kMiB), 300 * kMiB, 0);
  EXPECT_EQ(full.memory_free, 0);

  for (const char* none : {"max\n", ""}) {
    Machine unlimited = host;
    limit_memory(unlimited, none, 300 * kMiB, 0);
    EXPECT_EQ(unlimited.memory_total, host.memory_total);
    EXPECT_EQ(unlimited.memory_free, host.memory_free);
  }
}

TEST(FreeDisk, IsThatOfTheNearestFolderThatExists) {
  const auto root = free_disk("/");
  ASSERT_TRUE(root.has_value());
  EXPECT_GT(*root, 0);
  EXPECT_TRUE(free_disk("/no/such/folder").has_value());
  EXPECT_TRUE(free_disk("relative/that/is/not/there").has_value());
}

}  // namespace
}  // namespace samegrad
