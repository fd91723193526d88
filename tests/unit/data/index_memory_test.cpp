#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstring>

#include "tests/unit/data/memory_file.h"
#include "tests/unit/data/text_fixture.h"

namespace samegrad {
namespace {

constexpr std::size_t kFileBytes = std::size_t{200} << 20;
constexpr rlim_t kAddressSpace = rlim_t{100} << 20;

class IndexMemory : public TextFixture {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer reserves more address space than the limit of this test";
#endif
  }

  /// Runs `work` in a child with little address space; true when it ended without an exception.
  template <typename Work>
  static bool fits(const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
      const rlimit limit{kAddressSpace, kAddressSpace};
      int code = setrlimit(RLIMIT_AS, &limit) == 0 ? 0 : 2;
      try {
        work();
      } catch (const std::exception&) {
        code = 1;
      }
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

TEST_F(IndexMemory, AFileOf200MiBIsIndexedAndReadIn100MiBOfAddressSpace) {
  options_.context = 2048;
  const std::string line = prompt_line(400, 600);
  std::string many;
  while (many.size() < std::size_t{1} << 20) many += line;
  MemoryFile data;
  std::size_t size = 0;
  for (; size < kFileBytes; size += many.size()) data.append(many);
  EXPECT_TRUE(fits([&] {
    mallopt(M_ARENA_MAX, 1);  // another arena would reserve 64 MiB of address space
    build_sample_index(data.path(), index_, options_, /*threads=*/2).file->commit();
    const TextSource source(data.path(), index_, options_);
    for (std::int64_t id = 0; id < source.size(); id += 1000) {
      if (source.sample(id).supervised_tokens() != 601) _exit(3);
    }
  }));
  EXPECT_EQ(SampleIndex(index_).size(), static_cast<std::int64_t>(size / line.size()));
}

TEST_F(IndexMemory, ControlReadingTheFileWholeDoesNotFit) {
  EXPECT_FALSE(fits([&] { std::string bytes(kFileBytes, 'x'); }));
}

}  // namespace
}  // namespace samegrad
