#include "samegrad/comm/environment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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
  WorkerEnvironment expected{2, 3, 2, 3, 9, -1, {}, ""};
  Variables variables{{"RANK", "2"},
                      {"WORLD_SIZE", "3"},
                      {"LOCAL_RANK", "2"},
                      {"LOCAL_WORLD_SIZE", "3"},
                      {"SAMEGRAD_SHM_FD", "9"},
                      {"OMPI_COMM_WORLD_SIZE", "1"}};
  EXPECT_EQ(read(variables), expected);
  EXPECT_EQ(read({{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"SAMEGRAD_SHM_FD", "9"}}), expected);
  variables.erase("SAMEGRAD_SHM_FD");
  variables["SAMEGRAD_STORE_FD"] = "8";
  expected.shared_memory_fd = -1;
  expected.store_fd = 8;
  EXPECT_EQ(read(variables), expected);
}

const Variables kTorchrun{{"RANK", "3"},
                          {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"GROUP_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "node-a"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_RUN_ID", "job"},
                          {"TORCHELASTIC_RESTART_COUNT", "1"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

Variables torchrun_with(const Variables& changes) {
  Variables changed = kTorchrun;
  for (const auto& [name, value] : changes) {
    changed[name] = value;
  }
  return changed;
}

TEST(WorkerEnvironment, RanksOfTorchrunMeetInItsStoreUnderTheRunsAndTheRestartsName) {
  const WorkerEnvironment worker = read(kTorchrun);
  EXPECT_EQ(worker.rank, 3);
  EXPECT_EQ(worker.local_rank, 1);
  EXPECT_EQ(worker.local_world_size, 2);
  EXPECT_EQ(worker.launcher, "torchrun");
  ASSERT_TRUE(worker.store);
  EXPECT_EQ(*worker.store, (LauncherStore{"node-a", 29'500, true, "samegrad/job/1"}));
  EXPECT_EQ(read(torchrun_with({{"ACCELERATE_MIXED_PRECISION", "no"}})).launcher, "accelerate");
}

TEST(WorkerEnvironment, WithoutAnAgentRankZeroKeepsTheStore) {
  const WorkerEnvironment worker =
      read({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "::1"}, {"MASTER_PORT", "1"}});
  ASSERT_TRUE(worker.store);
  EXPECT_EQ(*worker.store, (LauncherStore{"::1", 1, false, "samegrad//0"}));
}

// As Open MPI 4 and 5, MPICH's Hydra, PALS and Slurm set them (their manuals).
Variables mpirun(int rank, int size, int local_size) {
  return {{"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
          {"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank % local_size)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)},
          {"PMIX_NAMESPACE", "prterun-host-7@1"},
          {"PMIX_RANK", std::to_string(rank)},
          {"XDG_RUNTIME_DIR", "/tmp"}};
}
Variables mpiexec(int rank, int size, const char* local_size_variable, const char* local_rank_variable) {
  return {{"PMI_SIZE", std::to_string(size)},
          {"PMI_RANK", std::to_string(rank)},
          {local_size_variable, std::to_string(size)},
          {local_rank_variable, std::to_string(rank)}};
}
Variables srun(int rank, int size, const std::string& nodes, const std::string& per_node) {
  return {{"SLURM_STEP_NUM_TASKS", std::to_string(size)},
          {"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", std::to_string(rank)},
          {"SLURM_STEP_NUM_NODES", nodes},
          {"SLURM_STEP_TASKS_PER_NODE", per_node},
          {"SLURM_JOB_ID", "17"},
          {"SLURM_STEP_ID", "0"}};
}
Variables with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) {
    variables[name] = value;
  }
  return variables;
}

TEST(WorkerEnvironment, RanksOfMpirunMpiexecAndSrunOnOneHostMeetInAFileOfTheirJob) {
  const WorkerEnvironment first = read(mpirun(0, 3, 3));
  const WorkerEnvironment last = read(mpirun(2, 3, 3));
  EXPECT_EQ(first.launcher, "mpirun");
  EXPECT_EQ((std::array{last.rank, last.world_size, last.local_rank, last.local_world_size}), (std::array{2, 3, 2, 3}));
  EXPECT_EQ(first.store_file, last.store_file);
  EXPECT_THAT(first.store_file, ::testing::StartsWith("/tmp/samegrad-"));
  EXPECT_NE(read(with(mpirun(0, 3, 3), {{"PMIX_NAMESPACE", "prterun-host-7@2"}})).store_file, first.store_file);

  for (const auto& [size, rank] :
       {std::pair{"MPI_LOCALNRANKS", "MPI_LOCALRANKID"}, std::pair{"PMI_LOCAL_SIZE", "PMI_LOCAL_RANK"}}) {
    const WorkerEnvironment hydra = read(mpiexec(1, 2, size, rank));
    EXPECT_EQ(hydra.launcher, "mpiexec");
    EXPECT_EQ((std::array{hydra.rank, hydra.world_size}), (std::array{1, 2}));
    EXPECT_THAT(hydra.store_file, ::testing::StartsWith("/dev/shm/samegrad-")) << "no XDG_RUNTIME_DIR";
    EXPECT_EQ(hydra.store_file, read(mpiexec(0, 2, size, rank)).store_file) << "no job name: by the parent process";
  }

  const WorkerEnvironment slurm = read(with(srun(3, 4, "1", "4"), {{"SLURM_LOCALID", "3"}}));
  EXPECT_EQ(slurm.launcher, "srun");
  EXPECT_EQ((std::array{slurm.rank, slurm.world_size, slurm.local_world_size}), (std::array{3, 4, 4}));
  EXPECT_EQ(slurm.store_file, read(srun(0, 4, "1", "4")).store_file);
  EXPECT_NE(slurm.store_file, read(with(srun(0, 4, "1", "4"), {{"SLURM_STEP_ID", "1"}})).store_file);
  EXPECT_NE(slurm.store_file, read(with(srun(0, 4, "1", "4"), {{"SLURM_RESTART_COUNT", "1"}})).store_file);
}

TEST(WorkerEnvironment, RanksOfMpirunMeetAtAnAddressWhereOneIsGiven) {
  const Variables address{{"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29500"}};
  const WorkerEnvironment worker = read(with(mpirun(3, 4, 2), address));
  ASSERT_TRUE(worker.store);
  EXPECT_EQ(*worker.store, (LauncherStore{"node-a", 29'500, false, "samegrad//0"}));
  EXPECT_EQ(worker.store_file, "");
  EXPECT_EQ((std::array{worker.local_rank, worker.local_world_size}), (std::array{1, 2}));
  EXPECT_TRUE(read(with(mpirun(0, 4, 4), address)).store) << "on one host, too";
  EXPECT_EQ(read(with(srun(2, 5, "3", "2(x2),1"), address)).local_world_size, 1);
  EXPECT_EQ(read(with(srun(1, 5, "3", "2(x2),1"), address)).local_world_size, 2);
  EXPECT_TRUE(read(with({{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}}, address)).store);
}

TEST(WorkerEnvironment, SeveralHostsWithoutAnAddressAreToldWhatToSet) {
  EXPECT_THAT(refusal(mpirun(0, 4, 2)),
              AllOf(HasSubstr("mpirun started 4 ranks (OMPI_COMM_WORLD_SIZE) on several hosts"),
                    HasSubstr("set MASTER_ADDR to the name of rank 0's host and MASTER_PORT")));
  EXPECT_THAT(refusal(srun(0, 4, "2", "2(x2)")), HasSubstr("srun started 4 ranks (SLURM_STEP_NUM_TASKS) on several"));
  EXPECT_THAT(refusal({{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}}), HasSubstr("does not say that all are on this host"));
  EXPECT_THAT(refusal(with(mpirun(0, 4, 2), {{"MASTER_ADDR", "a"}})), HasSubstr("MASTER_PORT is not set"));
}

TEST(WorkerEnvironment, ALauncherThatDoesNotSayWhichRankThisIsIsRefusedInsteadOfRunningAlone) {
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "4"}}),
              HasSubstr("OMPI_COMM_WORLD_RANK is not set, but OMPI_COMM_WORLD_SIZE is: mpirun started several"));
  EXPECT_THAT(refusal({{"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}}), HasSubstr("SLURM_PROCID is not set"));
  EXPECT_THAT(refusal({{"PMIX_RANK", "1"}}), HasSubstr("WORLD_SIZE is not set, but PMIX_RANK=1 is"));
  EXPECT_EQ(refusal({{"PMIX_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(refusal({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}), "") << "a batch script runs alone";
  EXPECT_EQ(refusal({{"SLURM_NTASKS", "4"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_STEP_NUM_TASKS", "1"},
                     {"SLURM_STEP_ID", "4294967290"}}),
            "")
      << "and so does an interactive step";
  EXPECT_EQ(refusal({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "");
}

TEST(WorkerEnvironment, OtherLaunchersContradictionsNameBothVariables) {
  EXPECT_THAT(refusal(with(mpirun(0, 3, 3), {{"OMPI_COMM_WORLD_RANK", "3"}})),
              HasSubstr("OMPI_COMM_WORLD_RANK=3 with OMPI_COMM_WORLD_SIZE=3"));
  EXPECT_THAT(refusal(with(mpirun(0, 3, 3), {{"WORLD_SIZE", "2"}})),
              HasSubstr("WORLD_SIZE=2 with OMPI_COMM_WORLD_SIZE=3"));
  EXPECT_THAT(refusal(with(mpirun(0, 2, 2), srun(0, 4, "1", "4"))),
              HasSubstr("OMPI_COMM_WORLD_SIZE=2 with SLURM_STEP_NUM_TASKS=4: two launchers (srun"));
  const Variables address{{"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(refusal(with(with(mpirun(0, 6, 2), srun(0, 3, "3", "1(x3)")), address)), "") << "its daemons, by srun";
  EXPECT_THAT(refusal({{"PMI_SIZE", "300"}, {"PMI_RANK", "1"}}), HasSubstr("PMI_SIZE=300: allowed is 1 to 256"));
}

TEST(WorkerEnvironment, RefusesRanksThatCannotFindEachOther) {
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}}), HasSubstr("RANK is not set, but WORLD_SIZE is"));
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}}),
              HasSubstr("MASTER_ADDR is not set, but WORLD_SIZE is: the ranks cannot find each other"));
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}), HasSubstr("MASTER_PORT is not set"));
  EXPECT_THAT(refusal(torchrun_with({{"MASTER_PORT", "65536"}})), HasSubstr("MASTER_PORT=65536: allowed is 1 to"));
}

TEST(WorkerEnvironment, RefusesASecondLauncherThatContradictsTheFirstNamingBoth) {
  EXPECT_THAT(refusal(torchrun_with({{"OMPI_COMM_WORLD_SIZE", "3"}})),
              AllOf(HasSubstr("WORLD_SIZE=4 with OMPI_COMM_WORLD_SIZE=3"), HasSubstr("mpirun")));
  EXPECT_THAT(refusal(torchrun_with({{"PMI_SIZE", "8"}})), HasSubstr("WORLD_SIZE=4 with PMI_SIZE=8"));
  EXPECT_THAT(refusal(torchrun_with({{"SLURM_NTASKS", "8"}, {"SLURM_STEP_ID", "0"}})),
              HasSubstr("WORLD_SIZE=4 with SLURM_NTASKS=8"));
  EXPECT_THAT(refusal(torchrun_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}})),
              HasSubstr("RANK=3 with OMPI_COMM_WORLD_RANK=0"));
  EXPECT_THAT(refusal({{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"SAMEGRAD_SHM_FD", "9"}, {"OMPI_COMM_WORLD_SIZE", "8"}}),
              HasSubstr("WORLD_SIZE=3 with OMPI_COMM_WORLD_SIZE=8"));
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"SAMEGRAD_SHM_FD", "9"}, {"SAMEGRAD_STORE_FD", "8"}}),
              HasSubstr("SAMEGRAD_SHM_FD=9 with SAMEGRAD_STORE_FD=8"));
}

TEST(WorkerEnvironment, ALauncherThatStartsTorchrunOnEveryHostIsNoContradiction) {
  EXPECT_EQ(refusal(torchrun_with({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}})), "");
  EXPECT_EQ(refusal(torchrun_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}})), "");
  EXPECT_EQ(refusal(torchrun_with({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}})), "");
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
  EXPECT_THAT(refusal(torchrun_with({{"LOCAL_RANK", "2"}})), HasSubstr("LOCAL_RANK=2 with LOCAL_WORLD_SIZE=2"));
  EXPECT_THAT(refusal(torchrun_with({{"LOCAL_WORLD_SIZE", "5"}})), HasSubstr("LOCAL_WORLD_SIZE=5 with WORLD_SIZE=4"));
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
    join_shared_memory(fd, 0, world_size, std::chrono::seconds(1));
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
