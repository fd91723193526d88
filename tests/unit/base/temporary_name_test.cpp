#include "samegrad/base/temporary_name.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "samegrad/base/digest.h"
#include "samegrad/base/folder_probe.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

namespace fs = std::filesystem;

NameOwner dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return {.host = this_process().host, .process = child};
}

NameOwner living_process() { return {.host = this_process().host, .process = getppid()}; }

NameOwner elsewhere(pid_t process) {
  return {.host = this_process().host == "00000000" ? "00000001" : "00000000", .process = process};
}

class TemporaryNames : public TemporaryFolder {
 protected:
  std::string put(const std::string& target, const NameOwner& owner) const {
    const std::string name = TemporaryName{.target = target, .owner = owner}.text();
    write(folder_ / name, "half");
    return name;
  }
  bool is_there(const std::string& name) const { return fs::exists(fs::symlink_status(folder_ / name)); }
};

TEST_F(TemporaryNames, TellHostAndProcess) {
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  const std::string owner = sha256_hex(host.data()).substr(0, 8) + "-" + std::to_string(getpid());
  EXPECT_EQ(this_process().text(), owner);
  EXPECT_EQ(temporary_path("a/plan.json"), "a/.plan.json.tmp-" + owner);
  EXPECT_EQ(temporary_path("plan.json"), ".plan.json.tmp-" + owner);
}

TEST_F(TemporaryNames, AreReadBackOnlyInTheFormThatIsWritten) {
  const std::optional<TemporaryName> name = parse_temporary_name(".a.tmp-b.tmp-0123abcd-77");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->target, "a.tmp-b");
  EXPECT_EQ(name->owner.host, "0123abcd");
  EXPECT_EQ(name->owner.process, 77);
  EXPECT_EQ(name->text(), ".a.tmp-b.tmp-0123abcd-77");
  for (const char* text :
       {".a.tmp-77", ".a.tmp-0123abcd", ".a.tmp-0123abcd-", ".a.tmp-0123abcd-0", ".a.tmp-0123abcd-07",
        ".a.tmp-0123abcd--7", ".a.tmp-0123abcd-7x", ".a.tmp-0123ABCD-7", ".a.tmp-123abcd-7",
        ".a.tmp-0123abcd-99999999999", "a.tmp-0123abcd-7", ".tmp-0123abcd-7", ""}) {
    EXPECT_FALSE(parse_temporary_name(text)) << text;
  }
}

TEST_F(TemporaryNames, OfThisHostAreLeftOverWhenTheirProcessIsGone) {
  EXPECT_TRUE(is_left_over(folder_, dead_process()));
  EXPECT_TRUE(is_left_over(folder_, this_process()));
  EXPECT_FALSE(is_left_over(folder_, living_process()));
  EXPECT_FALSE(is_left_over(folder_, living_process(), std::time(nullptr) + 10 * kLeftOverAfterSeconds));
}

TEST_F(TemporaryNames, AreLeftOverWhenTheIdIsThatOfAProcessNobodyHasWaitedForOrOfAThread) {
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(kill(ended, 0), 0);
  EXPECT_TRUE(is_left_over(folder_, {.host = this_process().host, .process = ended}));
  waitpid(ended, nullptr, 0);
  std::thread([&] {
    ASSERT_NE(gettid(), getpid());
    EXPECT_TRUE(is_left_over(folder_, {.host = this_process().host, .process = gettid()}));
  }).join();
}

TEST_F(TemporaryNames, OfAnotherHostAreLeftOverWhenNothingChangedForLongWhateverTheirProcess) {
  for (const pid_t process : {dead_process().process, getpid(), getppid()}) {
    EXPECT_FALSE(is_left_over(folder_, elsewhere(process)));
    EXPECT_FALSE(is_left_over(folder_, elsewhere(process), std::time(nullptr) + kLeftOverAfterSeconds - 60));
    EXPECT_TRUE(is_left_over(folder_, elsewhere(process), std::time(nullptr) + kLeftOverAfterSeconds + 60));
    EXPECT_FALSE(is_left_over(folder_ / "none", elsewhere(process), std::time(nullptr) + 10 * kLeftOverAfterSeconds));
  }
}

TEST_F(TemporaryNames, OfATargetGoWhereTheyAreLeftOver) {
  const std::string dead = put("file", dead_process());
  const std::string own = put("file", this_process());
  const std::vector<std::string> stay = {put("file", living_process()), put("file", elsewhere(dead_process().process)),
                                         put("other", dead_process()), ".file.tmp-mine"};
  write(folder_ / stay.back(), "mine");
  const std::string folder = TemporaryName{.target = "file", .owner = dead_process()}.text();
  fs::create_directories(folder_ / folder / "inside");
  EXPECT_EQ(remove_left_temporaries(folder_ / "file"), 0);
  for (const std::string& gone : {dead, own, folder}) EXPECT_FALSE(is_there(gone)) << gone;
  for (const std::string& name : stay) EXPECT_TRUE(is_there(name)) << name;
  EXPECT_EQ(remove_left_temporaries(folder_ / "none" / "file"), 0);
}

TEST_F(TemporaryNames, AProbeLeavesNothingAndTakesAwayWhatKilledOnesLeft) {
  const std::string dead = put(".samegrad-probe", dead_process());
  const std::string living = put(".samegrad-probe", living_process());
  write(folder_ / ".samegrad-probe", "samegrad");
  EXPECT_TRUE(is_left_by_probe(folder_ / dead));
  EXPECT_FALSE(is_left_by_probe(folder_ / living));
  EXPECT_TRUE(is_left_by_probe(folder_ / ".samegrad-probe"));
  EXPECT_FALSE(is_left_by_probe(folder_ / put("samegrad-probe", dead_process())));
  probe_folder(folder_);
  EXPECT_FALSE(is_there(dead));
  EXPECT_FALSE(is_there(".samegrad-probe"));
  EXPECT_TRUE(is_there(living));
}

}  // namespace
}  // namespace samegrad
