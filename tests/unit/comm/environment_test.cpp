#include "samegrad/comm/environment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "samegrad/base/error.h"
#include "samegrad/comm/shm_region.h"

namespace samegrad {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

WorkerEnvironment read(const Variables& variables) {
  return read_worker_environment([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const Variables& variables) {
  try {
    read(variables);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(WorkerEnvironment, WithoutVariablesIsAloneAndSoIsATorchrunOfOne) {
  EXPECT_EQ(read({}), WorkerEnvironment{});
  EXPECT_EQ(read({{"WORLD_SIZE", "1"}}), WorkerEnvironment{});
  EXPECT_EQ(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"TORCHELASTIC_RUN_ID", "x"}}),
            WorkerEnvironment{});
}

TEST(WorkerEnvironment, ReadsWhatTheLauncherGives) {
  const WorkerEnvironment expected{2, 3, 2, 3, 9};
  EXPECT_EQ(read({{"RANK", "2"},
                  {"WORLD_SIZE", "3"},
                  {"LOCAL_RANK", "2"},
                  {"LOCAL_WORLD_SIZE", "3"},
                  {"SAMEGRAD_SHM_FD", "9"},
                  {"OMPI_COMM_WORLD_SIZE", "8"}}),
            expected);
  EXPECT_EQ(read({{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"SAMEGRAD_SHM_FD", "9"}}), expected);
}

TEST(WorkerEnvironment, RefusesOtherLaunchersByNameInsteadOfRunningAlone) {
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "x"}}),
              AllOf(HasSubstr("[launch] started by another launcher (torchrun, WORLD_SIZE=2): not supported yet"),
                    HasSubstr("samegrad train --nproc N")));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}}), HasSubstr("started by another launcher"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "4"}}), HasSubstr("(mpirun, OMPI_COMM_WORLD_SIZE=4)"));
  EXPECT_THAT(refusal({{"PMI_SIZE", "4"}}), HasSubstr("(mpiexec, PMI_SIZE=4)"));
  EXPECT_THAT(refusal({{"SLURM_STEP_NUM_TASKS", "4"}}), HasSubstr("(srun, SLURM_STEP_NUM_TASKS=4)"));
  EXPECT_EQ(refusal({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "");
}

TEST(WorkerEnvironment, RefusesContradictionsNamingBothValues) {
  const Variables good{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"SAMEGRAD_SHM_FD", "9"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    Variables changed = good;
    changed[name] = value;
    return refusal(changed);
  };
  EXPECT_THAT(with("RANK", "2"), HasSubstr("RANK=2 with WORLD_SIZE=2: a rank is below the world size"));
  EXPECT_THAT(with("LOCAL_RANK", "0"), HasSubstr("LOCAL_RANK=0 with RANK=1"));
  EXPECT_THAT(with("LOCAL_WORLD_SIZE", "1"), HasSubstr("LOCAL_WORLD_SIZE=1 with WORLD_SIZE=2"));
  EXPECT_THAT(with("WORLD_SIZE", "257"), HasSubstr("WORLD_SIZE=257: allowed is 1 to 256"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE=0"));
}

TEST(WorkerEnvironment, RefusesHalfOfAPlace) {
  EXPECT_THAT(refusal({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not set, but RANK is"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}, {"SAMEGRAD_SHM_FD", "9"}}),
              HasSubstr("RANK is not set, but SAMEGRAD_SHM_FD is"));
}

TEST(WorkerEnvironment, RefusesWhatIsNoNumber) {
  for (const char* value : {"", "x", "1x", " 1", "-1", "1.0", "99999999999"}) {
    EXPECT_THAT(refusal({{"RANK", value}, {"WORLD_SIZE", "2"}, {"SAMEGRAD_SHM_FD", "9"}}), HasSubstr("RANK='"))
        << value;
  }
}

TEST(SharedMemory, IsSealedInItsSizeAndClosedOnExec) {
  const int fd = create_shared_memory(3);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(ftruncate(fd, 4'096), 0);
  EXPECT_NE(ftruncate(fd, std::int64_t{1} << 30), 0);
  close(fd);
}

std::string adoption_refusal(int fd, int world_size) {
  try {
    communicator_from_environment({0, world_size, 0, world_size, fd}, std::chrono::seconds(1));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(SharedMemory, RefusesADescriptorThatIsNotThisRuns) {
  const int closed = dup(STDOUT_FILENO);
  close(closed);
  EXPECT_THAT(adoption_refusal(closed, 2), HasSubstr("Bad file descriptor"));
  const int null = open("/dev/null", O_RDONLY);
  EXPECT_THAT(adoption_refusal(null, 2), HasSubstr("not the shared memory of this version of samegrad"));
  close(null);
  const int other_size = create_shared_memory(3);
  EXPECT_THAT(adoption_refusal(other_size, 2), HasSubstr("made for 3 processes, but WORLD_SIZE is 2"));
  close(other_size);
}

TEST(SharedMemory, RefusesAFileWhoseHeaderLiesAboutItsSize) {
  std::string name = ::testing::TempDir() + "samegrad_region_XXXXXX";
  const int fd = mkstemp(name.data());
  unlink(name.c_str());
  const int good = create_shared_memory(2);
  std::array<char, 4'096> page{};
  ASSERT_EQ(pread(good, page.data(), page.size(), 0), 4'096);
  ASSERT_EQ(pwrite(fd, page.data(), page.size(), 0), 4'096);
  EXPECT_THAT(adoption_refusal(fd, 2), HasSubstr("damaged: 4096 bytes instead of "));
  close(good);
  close(fd);
}

}  // namespace
}  // namespace samegrad
